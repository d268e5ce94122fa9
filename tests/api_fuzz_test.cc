// SPDX-License-Identifier: GPL-3.0-or-later
// Random calls of the whole C API: configurations inside and outside of what is legal,
// calls cut anywhere, live changes, memory around outputs; values against formulas in
// double. usage: api_fuzz_test [--device cpu|INDEX] [SUITE[::TEST]]
//
// Each round has a seed of its own, which a failure names:
//     CUFILTER_FUZZ_SEED=n CUFILTER_FUZZ_ROUNDS=1 api_fuzz_test SUITE::TEST
// plays it again, and more rounds look further.
#include "runner.h"

int main(int argc, char** argv)
{
    return runner::run(argc, argv);
}
