// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a CppUnit program on the device that the command line names.
#ifndef CUFILTER_TESTS_RUNNER_H
#define CUFILTER_TESTS_RUNNER_H

#include <cufilter/status.h>

#include <cppunit/extensions/HelperMacros.h>

#include <sstream>
#include <string>

namespace runner {

// CUFILTER_DEVICE_CPU or a GPU index.
int device();

// usage: PROGRAM [--device cpu|INDEX] [TEST]; exits with 77 where that GPU cannot be
// used.
int run(int argc, char** argv);

// The parts, a blank behind each: what a failure names.
template <typename... T>
std::string say(const T&... parts)
{
    std::ostringstream text;
    ((text << parts << ' '), ...);
    return text.str();
}

// Fails with the text unless the condition holds.
void require(bool condition, const std::string& text);

// Fails the test with the core's own text where the status is not the expected one.
void expect(enum cufilter_status status, enum cufilter_status expected,
            const std::string& what);

// The last error's text must hold each of the words.
void expect_text(std::initializer_list<std::string> words);

// Fails unless value <= limit; NaN fails.
void expect_at_most(double value, double limit, const std::string& what);

} // namespace runner

#endif
