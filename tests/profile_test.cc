// SPDX-License-Identifier: GPL-3.0-or-later
// Profiles: the table of built-in values, where the file is looked for, what its text may
// be, and what becomes of text that breaks a rule.
//
// usage: profile_test [TEST | value KEY | first-use]: `value` prints the CPU's value and
// how many warnings there were, as a process finds them that starts with this
// environment; `first-use` lets many threads ask the first question at once.
#include <cufilter/cufilter.h>

#include "runner.h"

#include <algorithm>
#include <atomic>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

using runner::expect;
using runner::expect_text;
using runner::require;
using runner::say;

namespace {

std::vector<std::string> warnings;
std::mutex warnings_lock;

void receive(enum cufilter_log_level level, const char* text)
{
    const std::lock_guard<std::mutex> guard(warnings_lock);
    if (level == CUFILTER_LOG_WARN)
        warnings.push_back(text);
}

std::string cpu_name()
{
    char name[256];
    require(cufilter_device_name(CUFILTER_DEVICE_CPU, name, sizeof name) == CUFILTER_OK &&
                *name,
            "the CPU has a name");
    return name;
}

double value_of(const std::string& key, int device = CUFILTER_DEVICE_CPU)
{
    double value = -1;
    expect(cufilter_profile_get(device, key.c_str(), &value), CUFILTER_OK, key);
    return value;
}

std::vector<struct cufilter_profile_key> keys()
{
    size_t n = 0;
    const struct cufilter_profile_key* const first = cufilter_profile_keys(&n);
    return {first, first + n};
}

bool legal(const struct cufilter_profile_key& key, double value)
{
    const bool whole = key.rule == CUFILTER_PROFILE_REAL || value == std::floor(value);
    const bool power = key.rule != CUFILTER_PROFILE_POWER_OF_TWO ||
                       std::log2(value) == std::floor(std::log2(value));
    return value >= key.least && value <= key.most && whole && power;
}

std::string read_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary) << text;
}

// What a process with this environment says of a key.
std::string ask_child(const std::string& environment, const std::string& arguments)
{
    const std::string command = "env -u CUFILTER_PROFILE -u XDG_CONFIG_HOME -u HOME " +
                                environment + " /proc/self/exe " + arguments;
    // The shell's own /proc/self/exe is not this program.
    std::string self(4096, '\0');
    const ssize_t n = readlink("/proc/self/exe", &self[0], self.size());
    require(n > 0, "this program has a path");
    self.resize(static_cast<size_t>(n));
    std::string line = command;
    line.replace(line.find("/proc/self/exe"), 14, "'" + self + "'");
    FILE* const pipe = popen(line.c_str(), "r");
    require(pipe != nullptr, line);
    char text[4096] = "";
    std::string all;
    while (fgets(text, sizeof text, pipe))
        all += text;
    require(pclose(pipe) == 0, line + ": " + all);
    return all;
}

constexpr const char* head = "format = 1\nlibrary = 0.0.1\n";

} // namespace

class profile_test : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(profile_test);
    CPPUNIT_TEST(built_in_values);
    CPPUNIT_TEST(table_keeps_its_own_rules);
    CPPUNIT_TEST(manual_has_the_table);
    CPPUNIT_TEST(good_text);
    CPPUNIT_TEST(bad_lines);
    CPPUNIT_TEST(many_bad_lines);
    CPPUNIT_TEST(other_devices);
    CPPUNIT_TEST(refused_files);
    CPPUNIT_TEST(random_text);
    CPPUNIT_TEST(any_locale);
    CPPUNIT_TEST(setting);
    CPPUNIT_TEST(round_trip);
    CPPUNIT_TEST(writing_is_one_step);
    CPPUNIT_TEST(writing_fails);
    CPPUNIT_TEST(where_it_is_found);
    CPPUNIT_TEST(first_use_of_many_threads);
    CPPUNIT_TEST_SUITE_END();

    std::string folder, path;

    // Loads the text; the CPU's section begins behind the head.
    enum cufilter_status load(const std::string& text)
    {
        warnings.clear();
        write_file(path, text);
        return cufilter_profile_load(path.c_str());
    }

    std::string section(const std::string& lines) const
    {
        return head + std::string("[cpu ") + cpu_name() + "]\n" + lines;
    }

    void check_built_in(const std::string& what)
    {
        for (const auto& key : keys())
            if (key.cpu != CUFILTER_PROFILE_UNUSED)
                CPPUNIT_ASSERT_EQUAL_MESSAGE(what + ": " + key.name, key.cpu,
                                             value_of(key.name));
    }

public:
    void setUp() override
    {
        char name[] = "/tmp/cufilter_profile_XXXXXX";
        require(mkdtemp(name) != nullptr, "a folder");
        folder = name;
        path = folder + "/profile";
        cufilter_set_log(receive);
        warnings.clear();
        cufilter_profile_load(nullptr);
    }

    void tearDown() override
    {
        cufilter_set_log(nullptr);
        cufilter_profile_load(nullptr);
        require(std::system(("rm -rf '" + folder + "'").c_str()) == 0, "clean up");
    }

    // A change of them is meant.
    void built_in_values()
    {
        constexpr double none = CUFILTER_PROFILE_UNUSED;
        const std::map<std::string, std::pair<double, double>> expected = {
            {"fir.direct_favour", {1.0, 1.15}},
            {"fir.direct_taps", {none, 32}},
            {"fir.tiled_favour", {1.0, none}},
            {"fir.exact_favour", {1.0, none}},
            {"fir.pass_items", {1024, none}},
            {"fir.near_bytes", {1.2e6, none}},
            {"fir.zero_copy_bytes", {none, 3 << 19}},
            {"fir.zero_copy_bytes_long", {none, 3 << 18}},
            {"fir.chunk_least_bytes", {none, 512 << 10}},
            {"fir.chunk_most_bytes", {none, 2 << 20}},
            {"fir.bounce_items", {none, 1 << 15}},
            {"fir.past_cache_bytes", {none, 1 << 20}},
            {"pfb.group_items", {4096, none}},
            {"pfb.relay_items", {none, 1 << 11}},
            {"pfb.relay_items_walking", {none, 1 << 14}},
            {"pfb.piece_items", {none, 1 << 18}},
            {"pfb.bounce_items", {none, 1 << 16}},
            {"pfb.synth_items", {none, 1 << 20}},
            {"iir.thread_work", {131072, none}},
            {"iir.spins", {4000, none}},
            {"iir.piece_values", {16384, none}},
            {"iir.block_items", {4032, none}},
            {"iir.zero_copy_bytes", {none, 1 << 20}},
            {"iir.chunk_least_bytes", {none, 512 << 10}},
            {"iir.chunk_most_bytes", {none, 4 << 20}},
            {"iir.bounce_bytes", {none, 256 << 10}},
            {"iir.lookback_favour", {none, 1.0}},
            {"iir.lookback_warm_up", {none, 1024}},
            {"iir.lookback_sections", {none, 16}},
            {"dwt.row_items", {1024, none}},
            {"dwt.stream_items", {2048, none}},
            {"dwt.bounce_bytes", {none, 256 << 10}},
            {"dwt.whole_items", {none, 9216}},
            {"dwt.tile_items", {none, 4096}},
        };
        CPPUNIT_ASSERT_EQUAL(expected.size(), keys().size());
        for (const auto& key : keys()) {
            const auto found = expected.find(key.name);
            require(found != expected.end(), std::string("a known key: ") + key.name);
            CPPUNIT_ASSERT_EQUAL_MESSAGE(key.name, found->second.first, key.cpu);
            CPPUNIT_ASSERT_EQUAL_MESSAGE(key.name, found->second.second, key.gpu);
        }
        check_built_in("without a profile");
    }

    void table_keeps_its_own_rules()
    {
        std::set<std::string> names;
        for (const auto& key : keys()) {
            require(names.insert(key.name).second, say(key.name, "twice"));
            require(key.cpu == CUFILTER_PROFILE_UNUSED || legal(key, key.cpu), key.name);
            require(key.gpu == CUFILTER_PROFILE_UNUSED || legal(key, key.gpu), key.name);
            require(key.cpu != CUFILTER_PROFILE_UNUSED ||
                        key.gpu != CUFILTER_PROFILE_UNUSED,
                    say(key.name, "is of some use"));
            require(legal(key, key.least) && legal(key, key.most), key.name);
            require(*key.meaning && *key.reader, key.name);
        }
    }

    void manual_has_the_table()
    {
        const auto number = [](double value) {
            char text[32];
            std::snprintf(text, sizeof text, "%.10g", value);
            return value == CUFILTER_PROFILE_UNUSED ? std::string("-") : text;
        };
        const std::string manual = read_file(MANUAL);
        size_t at = 0;
        for (const auto& key : keys()) {
            std::string reader = key.reader;
            for (size_t i = 0; (i = reader.find(", ", i)) != std::string::npos; i += 4)
                reader.replace(i, 2, "`, `");
            const std::string row =
                std::string("\n| `") + key.name + "` | " + number(key.cpu) + " | " +
                number(key.gpu) + " | " + number(key.least) + " .. " + number(key.most) +
                (key.rule == CUFILTER_PROFILE_POWER_OF_TWO ? ", powers of 2 | " : " | ") +
                key.meaning + " | `" + reader + "` |\n";
            const size_t found = manual.find(row);
            require(found != std::string::npos, "docs/tuning.md has" + row);
            require(found >= at, "docs/tuning.md has them in order");
            at = found;
        }
    }

    void good_text()
    {
        const std::string ends[] = {"\n", "\r\n"};
        for (const std::string& end : ends) {
            std::string text = "# a comment" + end + end + "  format=1" + end +
                               "library = 9.8.7" + end + "\t[cpu " + cpu_name() + "] " +
                               end + "fir.pass_items =2048" + end + " # more" + end +
                               "fir.direct_favour\t= 0.625" + end +
                               "dwt.row_items= 4096 "; // no end of line
            expect(load(text), CUFILTER_OK, text);
            require(warnings.empty(), warnings.empty() ? "" : warnings[0]);
            CPPUNIT_ASSERT_EQUAL(2048.0, value_of("fir.pass_items"));
            CPPUNIT_ASSERT_EQUAL(0.625, value_of("fir.direct_favour"));
            CPPUNIT_ASSERT_EQUAL(4096.0, value_of("dwt.row_items"));
            CPPUNIT_ASSERT_EQUAL(1.2e6, value_of("fir.near_bytes"));
            char what[512];
            cufilter_profile_describe(CUFILTER_DEVICE_CPU, what, sizeof what);
            for (const char* word : {path.c_str(), "3 values", "9.8.7"})
                require(std::strstr(what, word) != nullptr, say(what, "names", word));
        }
        // The nearest double to what is written.
        for (const char* number : {"0.1", "1.15", "99.999", "100", "0.010", "12.5"}) {
            load(section(say("fir.direct_favour =", number)));
            CPPUNIT_ASSERT_EQUAL(std::strtod(number, nullptr),
                                 value_of("fir.direct_favour"));
        }
    }

    void bad_lines()
    {
        const struct {
            const char *line, *value, *rule;
        } bad[] = {
            {"fir.pass_items = abc", "abc", "an integer, 64 .. 65536"},
            {"fir.pass_items =", "", "an integer, 64 .. 65536"},
            {"fir.pass_items = 63", "63", "64 .. 65536"},
            {"fir.pass_items = 65537", "65537", "64 .. 65536"},
            {"fir.pass_items = 100.5", "100.5", "an integer"},
            {"fir.pass_items = -100", "-100", "64 .. 65536"},
            {"fir.pass_items = 1e3", "1e3", "64 .. 65536"},
            {"fir.pass_items = 0x400", "0x400", "64 .. 65536"},
            {"fir.pass_items = 1024 1024", "1024 1024", "64 .. 65536"},
            {"fir.pass_items = 1000000000000000000000", "1000000000000000000000", "64"},
            {"fir.direct_favour = nan", "nan", "0.01 .. 100"},
            {"fir.direct_favour = inf", "inf", "0.01 .. 100"},
            {"fir.direct_favour = 1,5", "1,5", "0.01 .. 100"},
            {"fir.direct_favour = 1.", "1.", "0.01 .. 100"},
            {"fir.direct_favour = 0.009", "0.009", "0.01 .. 100"},
            {"dwt.row_items = 1000", "1000", "a power of two, 64 .. 65536"},
            {"fir.zero_copy_bytes = 4096", "fir.zero_copy_bytes", "of a CPU"},
            {"fir.no_such_key = 1", "fir.no_such_key", "one of the table"},
            {"nonsense", "nonsense", "KEY = VALUE"},
            {"= 5", "", "one of the table"},
            {"[gpuX]", "[gpuX]", "[gpu NAME] or [cpu NAME]"},
            {"[cpu ]", "[cpu", "[gpu NAME] or [cpu NAME]"},
            {"[cpu X", "[cpu X", "[gpu NAME] or [cpu NAME]"},
        };
        for (const auto& b : bad) {
            expect(load(section("iir.spins = 77\n" + std::string(b.line) + "\n")),
                   CUFILTER_OK, b.line);
            CPPUNIT_ASSERT_EQUAL_MESSAGE(b.line, size_t(1), warnings.size());
            for (const std::string& word :
                 {path, std::string("line 5"), std::string(b.value), std::string(b.rule)})
                require(warnings[0].find(word) != std::string::npos,
                        say(warnings[0], "names", word));
            CPPUNIT_ASSERT_EQUAL_MESSAGE(b.line, 77.0, value_of("iir.spins"));
            cufilter_profile_set(CUFILTER_DEVICE_CPU, "iir.spins", 4000);
            check_built_in(b.line);
        }
        // The first holds; control characters do not reach the log; long lines are
        // skipped.
        load(section("iir.spins = 1\niir.spins = 2\n"));
        CPPUNIT_ASSERT_EQUAL(1.0, value_of("iir.spins"));
        CPPUNIT_ASSERT_EQUAL(size_t(1), warnings.size());
        load(section("iir.spins = \x1b[31m\n"));
        CPPUNIT_ASSERT_EQUAL(size_t(1), warnings.size());
        require(warnings[0].find('\x1b') == std::string::npos, "no escapes in the log");
        load(section("iir.spins = 1" + std::string(400, '0') +
                     "\niir.piece_values = 512"));
        CPPUNIT_ASSERT_EQUAL(size_t(1), warnings.size());
        require(warnings[0].find("at most 320 characters") != std::string::npos,
                warnings[0]);
        CPPUNIT_ASSERT_EQUAL(4000.0, value_of("iir.spins"));
        CPPUNIT_ASSERT_EQUAL(512.0, value_of("iir.piece_values"));
        load(section(std::string("iir.spins = 1\0 2\n", 17)));
        CPPUNIT_ASSERT_EQUAL(size_t(1), warnings.size());
        CPPUNIT_ASSERT_EQUAL(4000.0, value_of("iir.spins"));
    }

    // A file of nonsense does not flood the log.
    void many_bad_lines()
    {
        std::string lines;
        for (int i = 0; i < 100; ++i)
            lines += "iir.spins = x\n";
        expect(load(section(lines)), CUFILTER_OK, "many bad lines");
        CPPUNIT_ASSERT_EQUAL(size_t(9), warnings.size());
        require(warnings[8].find("92 more") != std::string::npos, warnings[8]);
        check_built_in("many bad lines");
    }

    void other_devices()
    {
        const std::string cpu = cpu_name();
        for (const std::string& other :
             {"[gpu " + cpu + "]", "[cpu " + cpu + " II]", "[cpu X" + cpu + "]",
              "[cpu " + cpu.substr(0, cpu.size() - 1) + "]"}) {
            const bool gpu = other.compare(0, 5, "[gpu ") == 0;
            expect(load(head + other +
                        (gpu ? "\nfir.direct_favour = 7\n" : "\niir.spins = 7\n")),
                   CUFILTER_OK, other);
            require(warnings.empty(), other);
            check_built_in(other);
            char what[512];
            cufilter_profile_describe(CUFILTER_DEVICE_CPU, what, sizeof what);
            require(std::strstr(what, "nothing for this device") != nullptr, what);
        }
        // Names of devices do not mix values up.
        std::string text = head;
        for (int i = 0; i < CUFILTER_PROFILE_MAX_DEVICES - 1; ++i)
            text += say("[cpu other", i) + "]\niir.spins = " + std::to_string(i) + "\n";
        expect(load(text + "[cpu " + cpu + "]\niir.spins = 123\n[cpu one more]\n"),
               CUFILTER_OK, "many devices");
        CPPUNIT_ASSERT_EQUAL(123.0, value_of("iir.spins"));
        CPPUNIT_ASSERT_EQUAL(size_t(1), warnings.size());
        require(warnings[0].find("one more") != std::string::npos, warnings[0]);
    }

    void refused_files()
    {
        const std::string rest = "[cpu " + cpu_name() + "]\niir.spins = 7\n";
        const std::pair<std::string, std::string> refused[] = {
            {"", "format"},
            {"# only a comment\n", "format"},
            {rest, "come first"},
            {"library = 1\n" + rest, "come first"},
            {"format = 2\n" + rest, "\"2\""},
            {"format = 1.5\n" + rest, "\"1.5\""},
            {"format = one\n" + rest, "\"one\""},
            {"format =\n" + rest, "format must be 1"},
            {std::string(head) + rest + std::string(9000, '#'), "8192"},
        };
        for (const auto& r : refused) {
            expect(load(r.first), CUFILTER_ERR_INVALID, r.first);
            expect_text({path, r.second});
            check_built_in(r.first);
        }
        const std::string fifo = folder + "/fifo";
        require(mkfifo(fifo.c_str(), 0600) == 0, "a pipe");
        for (const std::string& not_a_file : {folder, fifo, folder + "/none"}) {
            expect(cufilter_profile_load(not_a_file.c_str()), CUFILTER_ERR_INVALID,
                   not_a_file);
            expect_text({not_a_file});
            check_built_in(not_a_file);
        }
    }

    // Whatever is in a file, every value is legal afterwards.
    void random_text()
    {
        std::mt19937 random(1);
        std::string good = section("");
        for (const auto& key : keys())
            if (key.cpu != CUFILTER_PROFILE_UNUSED)
                good += std::string(key.name) + " = " +
                        std::to_string(static_cast<long>(key.most)) + "\n";
        expect(load(good), CUFILTER_OK, good);
        require(warnings.empty(), "all at most");
        for (int round = 0; round < 1000; ++round) {
            std::string text = good;
            const unsigned changes = 1 + random() % 12;
            if (round % 4 == 0) {
                text.assign(random() % 9000, '\0');
                for (char& c : text)
                    c = static_cast<char>(random());
                if (round % 8 == 0)
                    text = head + text;
            }
            for (unsigned i = 0; i < changes && !text.empty(); ++i) {
                const size_t at = random() % text.size();
                if (random() % 3 == 0)
                    text.erase(at, 1 + random() % 20);
                else if (random() % 2)
                    text[at] = static_cast<char>(random());
                else
                    text.insert(at, text.substr(random() % text.size(), random() % 40));
            }
            load(text);
            require(warnings.size() <= 9, say(warnings.size(), "warnings"));
            for (const auto& key : keys())
                if (key.cpu != CUFILTER_PROFILE_UNUSED)
                    require(legal(key, value_of(key.name)), say(round, key.name));
        }
    }

    void any_locale()
    {
        for (const char* locale : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
            if (std::setlocale(LC_ALL, locale))
                break;
        load(section("fir.direct_favour = 1.5\n"));
        const double read = value_of("fir.direct_favour");
        expect(cufilter_profile_set(CUFILTER_DEVICE_CPU, "fir.direct_favour", 2.75),
               CUFILTER_OK, "set");
        expect(cufilter_profile_write(path.c_str()), CUFILTER_OK, "write");
        std::setlocale(LC_ALL, "C");
        CPPUNIT_ASSERT_EQUAL(1.5, read);
        const std::string text = read_file(path);
        require(text.find("fir.direct_favour = 2.75\n") != std::string::npos, text);
    }

    void setting()
    {
        const struct {
            int device;
            const char* key;
            double value;
            const char* word;
        } bad[] = {
            {-1, "iir.spins", -1, "-1"},
            {-1, "iir.spins", 0.5, "0.5"},
            {-1, "iir.spins", NAN, "nan"},
            {-1, "iir.spins", INFINITY, "inf"},
            {-1, "dwt.row_items", 96, "96"},
            {-1, "fir.direct_favour", 0, "0.01 .. 100"},
            {-1, "fir.zero_copy_bytes", 4096, "fir.zero_copy_bytes"},
            {-1, "none", 1, "none"},
            {-1, nullptr, 1, "NULL"},
            {-2, "iir.spins", 1, "-2"},
            {4321, "fir.zero_copy_bytes", 4096, "4321"},
        };
        for (const auto& b : bad) {
            expect(cufilter_profile_set(b.device, b.key, b.value), CUFILTER_ERR_INVALID,
                   say("set", b.key ? b.key : "NULL", b.value));
            expect_text({"cufilter_profile_set", b.word});
        }
        double value;
        CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID,
                             cufilter_profile_get(-1, "none", &value));
        CPPUNIT_ASSERT_EQUAL(CUFILTER_ERR_INVALID,
                             cufilter_profile_get(-1, "iir.spins", nullptr));
        check_built_in("after bad sets");
        for (const auto& key : keys())
            for (double v : {key.least, key.most}) {
                if (key.cpu == CUFILTER_PROFILE_UNUSED)
                    continue;
                expect(cufilter_profile_set(-1, key.name, v), CUFILTER_OK, key.name);
                CPPUNIT_ASSERT_EQUAL_MESSAGE(key.name, v, value_of(key.name));
            }
        // As a file would give it back.
        expect(cufilter_profile_set(-1, "fir.direct_favour", 1.0 / 3), CUFILTER_OK,
               "set");
        CPPUNIT_ASSERT_EQUAL(0.333, value_of("fir.direct_favour"));
        cufilter_profile_load(nullptr);
        check_built_in("load(NULL)");
    }

    // What is written is read again, other devices' values too, and nothing built in.
    void round_trip()
    {
        load(head + std::string("[gpu Some GPU (1)]\ndriver = 12.4\n"
                                "fir.zero_copy_bytes = 5000\nfir.direct_favour = 1.15\n"
                                "[cpu Other]\niir.spins = 9\n"));
        require(warnings.empty(), "good text");
        cufilter_profile_set(-1, "iir.spins", 4000);
        cufilter_profile_set(-1, "fir.tiled_favour", 1.25);
        cufilter_profile_set(-1, "fir.near_bytes", 1073741824);
        expect(cufilter_profile_write(nullptr), CUFILTER_OK, "write");
        const std::string text = read_file(path);
        for (const std::string& word :
             {std::string("format = 1\n"), std::string("library = "),
              std::string("[gpu Some GPU (1)]\ndriver = 12.4\nfir.zero_copy_bytes = "
                          "5000\n\n"),
              std::string("[cpu Other]\niir.spins = 9\n"),
              "[cpu " + cpu_name() +
                  "]\nfir.tiled_favour = 1.25\nfir.near_bytes = 1073741824\n"})
            require(text.find(word) != std::string::npos, text + " holds " + word);
        warnings.clear();
        expect(cufilter_profile_load(path.c_str()), CUFILTER_OK, "load");
        require(warnings.empty(), "what is written is good text");
        CPPUNIT_ASSERT_EQUAL(1.25, value_of("fir.tiled_favour"));
        CPPUNIT_ASSERT_EQUAL(4000.0, value_of("iir.spins"));
        expect(cufilter_profile_write(path.c_str()), CUFILTER_OK, "write again");
        CPPUNIT_ASSERT_EQUAL(text, read_file(path));
        // All keys at once still fit.
        for (const auto& key : keys())
            if (key.cpu != CUFILTER_PROFILE_UNUSED)
                cufilter_profile_set(-1, key.name, key.most);
        expect(cufilter_profile_write(nullptr), CUFILTER_OK, "write all");
        require(read_file(path).size() < 4096, "a profile is small");
    }

    // A reader finds the old text or the new one, never a part, and nothing else is left.
    void writing_is_one_step()
    {
        load(section("iir.spins = 1\n"));
        expect(cufilter_profile_write(nullptr), CUFILTER_OK, "write");
        std::atomic<bool> end{false};
        std::atomic<int> reads{0}, wrong{0};
        std::thread reader([&] {
            do {
                const std::string text = read_file(path);
                const size_t n = text.size();
                wrong += n < 30 || text.compare(n - 1, 1, "\n") != 0 ||
                         text.find("iir.spins = ") == std::string::npos;
                ++reads;
            } while (!end);
        });
        int written = 0;
        while (written < 200 || reads < 50) {
            cufilter_profile_set(-1, "iir.spins", ++written % 100000);
            expect(cufilter_profile_write(nullptr), CUFILTER_OK, "write");
        }
        end = true;
        reader.join();
        CPPUNIT_ASSERT_EQUAL(0, wrong.load());
        int files = 0;
        DIR* const dir = opendir(folder.c_str());
        while (const struct dirent* entry = readdir(dir))
            files += entry->d_name[0] != '.';
        closedir(dir);
        CPPUNIT_ASSERT_EQUAL(1, files);
        struct stat info;
        require(stat(path.c_str(), &info) == 0 && (info.st_mode & 0777) == 0644,
                "others may read it");
    }

    void writing_fails()
    {
        expect(cufilter_profile_write(nullptr), CUFILTER_ERR_INVALID, "no path");
        write_file(folder + "/file", "text");
        expect(cufilter_profile_write((folder + "/file/profile").c_str()),
               CUFILTER_ERR_INVALID, "a file for a folder");
        expect_text({folder + "/file/profile"});
        require(mkdir((folder + "/taken").c_str(), 0700) == 0, "a folder");
        expect(cufilter_profile_write((folder + "/taken").c_str()), CUFILTER_ERR_INVALID,
               "a folder for a file");
        CPPUNIT_ASSERT_EQUAL(std::string("text"), read_file(folder + "/file"));
        // Folders on the way are made.
        const std::string deep = folder + "/a/b/profile";
        expect(cufilter_profile_write(deep.c_str()), CUFILTER_OK, deep);
        require(!read_file(deep).empty(), deep);
    }

    void where_it_is_found()
    {
        const std::string at_home = folder + "/home/.config/cufilter/profile";
        const std::string at_xdg = folder + "/xdg/cufilter/profile";
        const std::string home = "HOME=" + folder + "/home ";
        const std::string xdg = "XDG_CONFIG_HOME=" + folder + "/xdg ";
        for (const auto& file : {std::make_pair(at_home, 11), std::make_pair(at_xdg, 12),
                                 std::make_pair(path, 13)}) {
            cufilter_profile_load(nullptr);
            cufilter_profile_set(-1, "iir.spins", file.second);
            expect(cufilter_profile_write(file.first.c_str()), CUFILTER_OK, file.first);
        }
        const std::pair<std::string, std::string> cases[] = {
            {"", "4000, 0 warnings, path \n"},
            {home, "11, 0 warnings, path " + at_home + "\n"},
            {home + xdg, "12, 0 warnings, path " + at_xdg + "\n"},
            {home + "XDG_CONFIG_HOME=xdg", "11, 0 warnings, path " + at_home + "\n"},
            {home + "XDG_CONFIG_HOME=", "11, 0 warnings, path " + at_home + "\n"},
            {home + xdg + "CUFILTER_PROFILE=" + path,
             "13, 0 warnings, path " + path + "\n"},
            {home + "CUFILTER_PROFILE=", "11, 0 warnings, path " + at_home + "\n"},
            {home + "CUFILTER_PROFILE=none", "4000, 0 warnings, path \n"},
            {"HOME=" + folder + "/x",
             "4000, 0 warnings, path " + folder + "/x/.config/cufilter/profile\n"},
            {"CUFILTER_PROFILE=" + folder + "/none",
             "4000, 1 warnings, path " + folder + "/none\n"},
        };
        for (const auto& c : cases)
            CPPUNIT_ASSERT_EQUAL_MESSAGE(c.first, c.second,
                                         ask_child(c.first, "value iir.spins"));
    }

    void first_use_of_many_threads()
    {
        write_file(path, section("iir.spins = 7\niir.piece_values = none\n"));
        for (int round = 0; round < 5; ++round)
            CPPUNIT_ASSERT_EQUAL(std::string("all right\n"),
                                 ask_child("CUFILTER_PROFILE=" + path, "first-use"));
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(profile_test);

namespace {

int print_value(const char* key)
{
    char where[4096];
    const double value = value_of(key);
    cufilter_profile_path(where, sizeof where);
    std::printf("%g, %zu warnings, path %s\n", value, warnings.size(), where);
    return 0;
}

/* Eight threads ask at once, while two set and write. */
int first_use()
{
    std::string own;
    if (!getenv("CUFILTER_PROFILE")) { /* run by hand or under a sanitizer */
        own = "/tmp/cufilter_first_use_" + std::to_string(getpid());
        write_file(own, head + std::string("[cpu ") + cpu_name() +
                            "]\niir.spins = 7\niir.piece_values = none\n");
        setenv("CUFILTER_PROFILE", own.c_str(), 1);
    }
    std::atomic<int> ready{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            char text[512];
            double value = 0;
            for (++ready; ready < 8;)
                std::this_thread::yield();
            for (int i = 0; i < 100; ++i) {
                wrong += cufilter_profile_get(-1, "iir.spins", &value) != CUFILTER_OK ||
                         value != 7;
                cufilter_profile_describe(-1, text, sizeof text);
                if (t < 2)
                    cufilter_profile_set(-1, "fir.pass_items", 64 + i);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    if (!own.empty())
        std::remove(own.c_str());
    std::printf(wrong || warnings.size() != 1 ? "%d wrong, %zu warnings\n"
                                              : "all right\n",
                wrong.load(), warnings.size());
    return wrong || warnings.size() != 1;
}

} // namespace

int main(int argc, char** argv)
{
    cufilter_set_log(receive);
    if (argc == 3 && !std::strcmp(argv[1], "value"))
        return print_value(argv[2]);
    if (argc == 2 && !std::strcmp(argv[1], "first-use"))
        return first_use();
    return runner::run(argc, argv);
}
