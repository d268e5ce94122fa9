/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest program on the installed C core: an impulse through three taps. */
#include <cufilter/cufilter.h>
#include <stdio.h>

int main(void)
{
    const float taps[3] = {3, 2, 1}, x[5] = {1, 0, 0, 0, 0};
    float y[5] = {-1, -1, -1, -1, -1};
    size_t n_out = 0;
    struct cufilter_fir_config config;
    cufilter_fir* fir = NULL;
    cufilter_fir_defaults(&config, CUFILTER_FIR_FFF);
    config.device = CUFILTER_DEVICE_CPU;
    config.taps = taps;
    config.n_taps = 3;
    if (cufilter_fir_create(&fir, &config) ||
        cufilter_fir_process(fir, x, 5, y, 5, &n_out))
        fprintf(stderr, "%s\n", cufilter_last_error());
    cufilter_fir_destroy(fir);
    printf("%zu: %.3f %.3f %.3f %.3f %.3f\n", n_out, y[0], y[1], y[2], y[3], y[4]);
    return n_out != 5;
}
