// SPDX-License-Identifier: GPL-3.0-or-later
// What the ways between host and GPU cost a FIR call, from 2^10 to 2^24 items.
//
// usage: transfer_bench [--device N] [--ms T] [--six-step]     (T: time for a median, 40)
//
// For M in {64, 4096} and each length of call it prints the median time of a call and the
// rate: zero-copy and chunked on registered memory (CUFILTER_FIR_TRANSFER, see
// cuda/fir/fir_gpu.c), what AUTO takes on registered, pinned and pageable memory, and
// both on the device. References of the same run: copies each way and both at once, a
// bare launch answered through a flag in mapped memory or by cudaStreamSynchronize(), and
// memcpy(). The crossover table of fir_gpu.c is set from the lines "crossover".
#include <cufilter/cufilter.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int MIN_LOG2 = 10, MAX_LOG2 = 24;
constexpr size_t MAX_ITEMS = (size_t)1 << MAX_LOG2;
constexpr size_t MAX_BYTES = MAX_ITEMS * 8;
constexpr size_t COPY_BYTES = (size_t)64 << 20;

int device = 0;
double budget_s = 0.040;

#define CHECK_CUDA(call) check_cuda((call), #call)
void check_cuda(cudaError_t error, const char* what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "transfer_bench: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

#define CHECK(call) check((call), #call)
void check(enum cufilter_status status, const char* what)
{
    if (status == CUFILTER_OK)
        return;
    fprintf(stderr, "transfer_bench: %s: %s\n", what, cufilter_last_error());
    exit(1);
}

double now()
{
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Median time in seconds of a call, over as many as the budget allows.
template <class F>
double median_time(F call)
{
    std::vector<double> times;
    for (int i = 0; i < 3; i++)
        call();
    const double end = now() + budget_s;
    while (times.size() < 5 || (now() < end && times.size() < 4000)) {
        const double begin = now();
        call();
        times.push_back(now() - begin);
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

// ---------------------------------------------------------------- memory

struct memory {
    enum kind { PAGEABLE, REGISTERED, PINNED, DEVICE } kind;
    char* p;
};

memory make_memory(enum memory::kind kind)
{
    memory m = {kind, nullptr};
    if (kind == memory::PINNED) {
        CHECK_CUDA(cudaHostAlloc((void**)&m.p, MAX_BYTES, cudaHostAllocMapped));
    } else if (kind == memory::DEVICE) {
        CHECK_CUDA(cudaMalloc((void**)&m.p, MAX_BYTES));
        CHECK_CUDA(cudaMemset(m.p, 0, MAX_BYTES));
        CHECK_CUDA(cudaDeviceSynchronize()); // before other streams use it
        return m;
    } else {
        m.p = (char*)aligned_alloc(4096, MAX_BYTES);
        if (!m.p)
            exit(1);
    }
    float* const values = (float*)m.p;
    for (size_t i = 0; i < MAX_BYTES / 4; i++)
        values[i] = (float)((i * 2654435761u >> 8) & 0xffff) / 65536.0f - 0.5f;
    if (kind == memory::REGISTERED)
        CHECK(cufilter_buffer_register(device, m.p, MAX_BYTES));
    return m;
}

// ---------------------------------------------------------------- references

__global__ void answer(volatile unsigned* flag, unsigned ticket)
{
    __threadfence_system();
    *flag = ticket;
}

void print_references(const memory& host_in, const memory& host_out, const memory& gpu_in,
                      const memory& gpu_out)
{
    cudaStream_t a, b;
    CHECK_CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    const auto to_gpu = [&] {
        CHECK_CUDA(
            cudaMemcpyAsync(gpu_in.p, host_in.p, COPY_BYTES, cudaMemcpyHostToDevice, a));
    };
    const auto to_host = [&] {
        CHECK_CUDA(cudaMemcpyAsync(host_out.p, gpu_out.p, COPY_BYTES,
                                   cudaMemcpyDeviceToHost, b));
    };
    const auto wait = [&] {
        CHECK_CUDA(cudaStreamSynchronize(a));
        CHECK_CUDA(cudaStreamSynchronize(b));
    };
    const double t_in = median_time([&] { to_gpu(), wait(); });
    const double t_out = median_time([&] { to_host(), wait(); });
    const double t_both = median_time([&] { to_gpu(), to_host(), wait(); });
    printf("copies of 64 MiB: to the GPU %.1f GB/s, to the host %.1f, both at once %.1f "
           "each "
           "way\n",
           COPY_BYTES / t_in * 1e-9, COPY_BYTES / t_out * 1e-9,
           COPY_BYTES / t_both * 1e-9);

    volatile unsigned* flag;
    unsigned* gpu_flag;
    unsigned ticket = 0;
    CHECK_CUDA(cudaHostAlloc((void**)&flag, 64, cudaHostAllocMapped));
    CHECK_CUDA(cudaHostGetDevicePointer((void**)&gpu_flag, (void*)flag, 0));
    *flag = 0;
    const auto launch = [&] {
        answer<<<1, 1, 0, a>>>(gpu_flag, ++ticket);
        CHECK_CUDA(cudaGetLastError());
    };
    double t_launch = 0; // with an empty queue: a full one would make the launch wait
    for (int i = 0; i < 100; i++) {
        const double begin = now();
        launch();
        t_launch += (now() - begin) / 100;
        CHECK_CUDA(cudaStreamSynchronize(a));
    }
    const double t_flag = median_time([&] {
        launch();
        while (*flag != ticket) {
        }
    });
    const double t_sync = median_time([&] {
        launch();
        CHECK_CUDA(cudaStreamSynchronize(a));
    });
    printf(
        "bare launch: queued %.2f us, flag seen %.2f us, cudaStreamSynchronize %.2f us\n",
        t_launch * 1e6, t_flag * 1e6, t_sync * 1e6);
    const double t_memcpy =
        median_time([&] { memcpy(host_out.p, host_in.p, COPY_BYTES); });
    printf("memcpy of 64 MiB by one thread: %.1f GB/s\n", COPY_BYTES / t_memcpy * 1e-9);
    CHECK_CUDA(cudaFreeHost((void*)flag));
    CHECK_CUDA(cudaStreamDestroy(a));
    CHECK_CUDA(cudaStreamDestroy(b));
}

// ---------------------------------------------------------------- calls

cufilter_fir* make_filter(size_t n_taps, const char* transfer, const char* wait,
                          enum cufilter_fir_method method)
{
    std::vector<float> taps(2 * n_taps);
    for (size_t i = 0; i < taps.size(); i++)
        taps[i] = (float)((i * 40503u + 7) & 0xff) / 256.0f - 0.5f;
    setenv("CUFILTER_FIR_TRANSFER", transfer, 1);
    setenv("CUFILTER_FIR_WAIT", wait, 1);
    struct cufilter_fir_config config;
    cufilter_fir* fir;
    cufilter_fir_defaults(&config, CUFILTER_FIR_CCC);
    config.device = device;
    config.taps = taps.data();
    config.n_taps = n_taps;
    config.method = method;
    CHECK(cufilter_fir_create(&fir, &config));
    return fir;
}

double time_calls(cufilter_fir* fir, const memory& in, const memory& out, size_t items)
{
    return median_time([&] {
        size_t n_out;
        CHECK(cufilter_fir_process(fir, in.p, items, out.p, items, &n_out));
        if (in.kind == memory::DEVICE)
            CHECK(cufilter_fir_synchronize(fir));
    });
}

struct column {
    const char* name;
    const char* transfer;
    const char* wait;
    enum memory::kind kind;
};

constexpr column columns[] = {
    {"zero-copy", "zero-copy", "flag", memory::REGISTERED},
    {"zc, sync", "zero-copy", "sync", memory::REGISTERED},
    {"chunk 64Ki", "chunked:65536", "flag", memory::REGISTERED},
    {"chunk 128Ki", "chunked:131072", "flag", memory::REGISTERED},
    {"chunk 256Ki", "chunked:262144", "flag", memory::REGISTERED},
    {"chunk 512Ki", "chunked:524288", "flag", memory::REGISTERED},
    {"auto reg.", "", "flag", memory::REGISTERED},
    {"auto pinned", "", "flag", memory::PINNED},
    {"auto pageable", "", "flag", memory::PAGEABLE},
    {"device", "", "flag", memory::DEVICE},
};
constexpr int N_COLUMNS = sizeof columns / sizeof *columns;

void print_table(size_t n_taps, enum cufilter_fir_method method, const memory* ins,
                 const memory* outs)
{
    char text[256];
    size_t crossover = 0;
    cufilter_fir* filters[N_COLUMNS];
    for (int c = 0; c < N_COLUMNS; c++)
        filters[c] = make_filter(n_taps, columns[c].transfer, columns[c].wait, method);
    printf("\nus a call, M = %zu; in brackets GS/s\n%9s", n_taps, "items");
    for (const column& c : columns)
        printf(" %15s", c.name);
    for (int k = MIN_LOG2; k <= MAX_LOG2; k++) {
        double best_zero_copy = 1e9, best_chunked = 1e9;
        printf("\n%9zu", (size_t)1 << k);
        for (int c = 0; c < N_COLUMNS; c++) {
            const double t = time_calls(filters[c], ins[columns[c].kind],
                                        outs[columns[c].kind], (size_t)1 << k);
            if (c < 2)
                best_zero_copy = std::min(best_zero_copy, t);
            else if (c < 6)
                best_chunked = std::min(best_chunked, t);
            printf(" %8.1f (%4.2f)", t * 1e6, (double)((size_t)1 << k) / t * 1e-9);
        }
        fflush(stdout);
        if (best_chunked >= best_zero_copy)
            crossover = 0;
        else if (!crossover)
            crossover = (size_t)1 << k;
    }
    cufilter_fir_describe(filters[0], text, sizeof text);
    if (crossover)
        printf("\ncrossover: chunked from %zu items on (%s)\n", crossover, text);
    else
        printf("\ncrossover: never (%s)\n", text);
    for (cufilter_fir* fir : filters)
        cufilter_fir_destroy(fir);
}

} // namespace

int main(int argc, char** argv)
{
    enum cufilter_fir_method method = CUFILTER_FIR_AUTO;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--device") && i + 1 < argc)
            device = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
            budget_s = atof(argv[++i]) * 1e-3;
        else if (!strcmp(argv[i], "--six-step"))
            method = CUFILTER_FIR_SIX_STEP;
        else {
            fprintf(stderr, "usage: transfer_bench [--device N] [--ms T] [--six-step]\n");
            return 2;
        }
    }
    if (cufilter_device_count() <= device) {
        printf("transfer_bench: no GPU %d, skipped\n", device);
        return 77;
    }
    struct cufilter_device_info info;
    CHECK(cufilter_device_get_info(device, &info));
    CHECK_CUDA(cudaSetDevice(device));
    printf("%s\n", info.name);
    memory ins[4], outs[4];
    for (int kind = 0; kind < 4; kind++) {
        ins[kind] = make_memory((enum memory::kind)kind);
        outs[kind] = make_memory((enum memory::kind)kind);
    }
    print_references(ins[memory::PINNED], outs[memory::PINNED], ins[memory::DEVICE],
                     outs[memory::DEVICE]);
    print_table(64, method, ins, outs);
    print_table(4096, method, ins, outs);
    CHECK(cufilter_buffer_unregister(device, ins[memory::REGISTERED].p));
    CHECK(cufilter_buffer_unregister(device, outs[memory::REGISTERED].p));
    return 0;
}
