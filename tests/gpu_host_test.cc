// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the GPU backends under a model of CUDA, on any machine:
//     gpu_host_test [SUITE[::TEST]]
// CUFILTER_TEST_SEED=K runs the random test's seed K alone, CUFILTER_TEST_VALUES=least
// or a seed all of it with other values than the built-in ones of a profile.
#include "gpu_host.h"
#include "runner.h"

#include <cufilter/device.h>
#include <cufilter/profile.h>

#include <cmath>
#include <cstring>
#include <random>

// The model runs no cuFFT.
extern "C" int cufilter_cufft_version(void)
{
    return 0;
}

namespace {

// A legal value; all orders of magnitude are as likely.
double draw(std::mt19937& random, const struct cufilter_profile_key& key)
{
    const double least = std::log(std::max(key.least, 1.0));
    const double part = std::uniform_real_distribution<double>(0, 1)(random);
    const double value = std::exp(least + part * (std::log(key.most) - least));
    switch (key.rule) {
    case CUFILTER_PROFILE_REAL:
        return value;
    case CUFILTER_PROFILE_INTEGER:
        return std::floor(value);
    default:
        return std::exp2(std::floor(std::log2(value) + 1e-9));
    }
}

void take_values(const std::string& which)
{
    size_t n;
    const struct cufilter_profile_key* const keys = cufilter_profile_keys(&n);
    std::mt19937 random(static_cast<unsigned>(std::atoi(which.c_str())));
    for (int device = 0; device < cufilter_device_count(); ++device)
        for (size_t i = 0; i < n; ++i) {
            const double drawn = draw(random, keys[i]);
            const double value = which == "least" ? keys[i].least : drawn;
            if (keys[i].gpu != CUFILTER_PROFILE_UNUSED)
                runner::expect(cufilter_profile_set(device, keys[i].name, value),
                               CUFILTER_OK, runner::say(keys[i].name, value));
        }
}

} // namespace

int main(int argc, char** argv)
{
    if (const char* const values = std::getenv("CUFILTER_TEST_VALUES"))
        take_values(values);
    return runner::run(argc, argv);
}
