// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the GPU backends under a model of CUDA, on any machine:
//     gpu_host_test [SUITE[::TEST]]
// CUFILTER_TEST_SEED=K runs the random test's seed K alone.
#include "gpu_host.h"
#include "runner.h"

// The model runs no cuFFT.
extern "C" int cufilter_cufft_version(void)
{
    return 0;
}

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
