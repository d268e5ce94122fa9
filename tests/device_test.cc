/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choice of device by argument and environment, and registration of host buffers. */
#include <cufilter/device.h>

#include <cppunit/extensions/HelperMacros.h>
#include <cppunit/extensions/TestFactoryRegistry.h>
#include <cppunit/ui/text/TestRunner.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::vector<std::string> warnings;

void receive(enum cufilter_log_level level, const char* text)
{
    if (level == CUFILTER_LOG_WARN)
        warnings.push_back(text);
}

void check_error_names(const std::string& value)
{
    const std::string text = cufilter_last_error();
    CPPUNIT_ASSERT_MESSAGE(text, text.find(value) != std::string::npos);
}

bool have_gpu()
{
    struct cufilter_device_info info;
    return cufilter_device_count() > 0 &&
           cufilter_device_get_info(0, &info) == CUFILTER_OK && info.usable;
}

} // namespace

class device_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(device_test);
    CPPUNIT_TEST(automatic_choice);
    CPPUNIT_TEST(environment);
    CPPUNIT_TEST(bad_requests);
    CPPUNIT_TEST(registration_nests);
    CPPUNIT_TEST(every_status_has_a_text);
    CPPUNIT_TEST_SUITE_END();

public:
    void setUp() override { unsetenv("CUFILTER_DEVICE"); }
    void tearDown() override { unsetenv("CUFILTER_DEVICE"); }

    void automatic_choice()
    {
        int chosen = 12345;
        warnings.clear();
        cufilter_set_log(receive);
        for (int i = 0; i < 3; ++i)
            CPPUNIT_ASSERT_EQUAL(CUFILTER_OK,
                                 cufilter_device_choose(CUFILTER_DEVICE_AUTO, &chosen));
        cufilter_set_log(nullptr);
        CPPUNIT_ASSERT_EQUAL(have_gpu() ? 0 : CUFILTER_DEVICE_CPU, chosen);
        /* The fallback is said, and said once. */
        CPPUNIT_ASSERT_EQUAL(have_gpu() ? size_t(0) : size_t(1), warnings.size());
        CPPUNIT_ASSERT_EQUAL(CUFILTER_OK,
                             cufilter_device_choose(CUFILTER_DEVICE_CPU, &chosen));
        CPPUNIT_ASSERT_EQUAL(CUFILTER_DEVICE_CPU, chosen);
    }

    void environment()
    {
        int chosen = 12345;
        setenv("CUFILTER_DEVICE", "cpu", 1);
        CPPUNIT_ASSERT_EQUAL(CUFILTER_OK,
                             cufilter_device_choose(CUFILTER_DEVICE_AUTO, &chosen));
        CPPUNIT_ASSERT_EQUAL(CUFILTER_DEVICE_CPU, chosen);
        for (const char* bad : {"gpu", "0x", "1.5", "-7"}) {
            setenv("CUFILTER_DEVICE", bad, 1);
            CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID,
                                 cufilter_device_choose(CUFILTER_DEVICE_AUTO, &chosen));
            check_error_names(bad);
        }
        /* An explicit request is not overridden. */
        setenv("CUFILTER_DEVICE", "nonsense", 1);
        CPPUNIT_ASSERT_EQUAL(CUFILTER_OK,
                             cufilter_device_choose(CUFILTER_DEVICE_CPU, &chosen));
        /* A GPU that the variable names must exist. */
        setenv("CUFILTER_DEVICE", "4321", 1);
        CPPUNIT_ASSERT(cufilter_device_choose(CUFILTER_DEVICE_AUTO, &chosen) !=
                       CUFILTER_OK);
    }

    void bad_requests()
    {
        int chosen;
        CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID, cufilter_device_choose(-3, &chosen));
        check_error_names("-3");
        const enum cufilter_status status = cufilter_device_choose(4321, &chosen);
        CPPUNIT_ASSERT(status == CUFILTER_ERR_NO_DEVICE ||
                       status == CUFILTER_ERR_NO_CUDA);
        CPPUNIT_ASSERT(*cufilter_last_error());
        struct cufilter_device_info info;
        CPPUNIT_ASSERT(cufilter_device_get_info(-1, &info) != CUFILTER_OK);
        CPPUNIT_ASSERT(cufilter_device_get_info(4321, &info) != CUFILTER_OK);
    }

    void registration_nests()
    {
        std::vector<char> memory(1 << 16);
        CPPUNIT_ASSERT_EQUAL(
            CUFILTER_OK, cufilter_buffer_register(CUFILTER_DEVICE_CPU, memory.data(), 1));
        if (!have_gpu()) {
            CPPUNIT_ASSERT(cufilter_buffer_register(0, memory.data(), memory.size()) !=
                           CUFILTER_OK);
            return;
        }
        for (int i = 0; i < 2; ++i)
            CPPUNIT_ASSERT_EQUAL(
                CUFILTER_OK, cufilter_buffer_register(0, memory.data(), memory.size()));
        for (int i = 0; i < 2; ++i)
            CPPUNIT_ASSERT_EQUAL(CUFILTER_OK,
                                 cufilter_buffer_unregister(0, memory.data()));
        CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID,
                             cufilter_buffer_unregister(0, memory.data()));
        CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID,
                             cufilter_buffer_register(0, memory.data(), 0));
    }

    void every_status_has_a_text()
    {
        for (int status = CUFILTER_ERR_INTERNAL; status <= CUFILTER_OK; ++status) {
            const std::string text =
                cufilter_strerror(static_cast<enum cufilter_status>(status));
            CPPUNIT_ASSERT(!text.empty() && text != "unknown status");
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(device_test);

int main()
{
    CppUnit::TextUi::TestRunner runner;
    runner.addTest(CppUnit::TestFactoryRegistry::getRegistry().makeTest());
    return runner.run() ? 0 : 1;
}
