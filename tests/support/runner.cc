// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a CppUnit program on the device that the command line names.
#include "runner.h"

#include <cufilter/device.h>

#include <cppunit/BriefTestProgressListener.h>
#include <cppunit/CompilerOutputter.h>
#include <cppunit/TestResult.h>
#include <cppunit/TestResultCollector.h>
#include <cppunit/TestRunner.h>
#include <cppunit/extensions/TestFactoryRegistry.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

namespace runner {

namespace {

constexpr int skipped = 77;
int chosen_device = CUFILTER_DEVICE_CPU;

int run_tests(const std::string& path)
{
    CppUnit::TestResult controller;
    CppUnit::TestResultCollector collector;
    CppUnit::BriefTestProgressListener progress;
    controller.addListener(&collector);
    controller.addListener(&progress);
    CppUnit::TestRunner tests;
    tests.addTest(CppUnit::TestFactoryRegistry::getRegistry().makeTest());
    tests.run(controller, path);
    CppUnit::CompilerOutputter(&collector, std::cerr).write();
    return collector.wasSuccessful() && collector.runTests() > 0 ? 0 : 1;
}

} // namespace

int device()
{
    return chosen_device;
}

int run(int argc, char** argv)
{
    std::string test;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--device") != 0)
            test = argv[i];
        else if (i + 1 < argc && std::strcmp(argv[++i], "cpu") != 0)
            chosen_device = std::atoi(argv[i]);
    }
    if (chosen_device >= 0) {
        struct cufilter_device_info info = {};
        if (cufilter_device_get_info(chosen_device, &info) != CUFILTER_OK ||
            !info.usable) {
            std::printf("skipped: GPU %d cannot be used: %s\n", chosen_device,
                        *info.reason ? info.reason : cufilter_last_error());
            return skipped;
        }
        std::printf("GPU %d: %s\n", chosen_device, info.name);
    }
    return run_tests(test);
}

void require(bool condition, const std::string& text)
{
    CPPUNIT_ASSERT_MESSAGE(text, condition);
}

void expect(enum cufilter_status status, enum cufilter_status expected,
            const std::string& what)
{
    if (status == expected)
        return;
    std::ostringstream text;
    text << what << ": status " << status << " (" << cufilter_last_error() << "), not "
         << expected;
    CPPUNIT_FAIL(text.str());
}

void expect_text(std::initializer_list<std::string> words)
{
    const std::string text = cufilter_last_error();
    for (const std::string& word : words)
        CPPUNIT_ASSERT_MESSAGE("\"" + text + "\" does not name \"" + word + "\"",
                               text.find(word) != std::string::npos);
}

void expect_at_most(double value, double limit, const std::string& what)
{
    if (value <= limit)
        return;
    std::ostringstream text;
    text << what << ": " << value << " exceeds " << limit;
    CPPUNIT_FAIL(text.str());
}

} // namespace runner
