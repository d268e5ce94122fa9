/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast the wavelet transform is on a GPU, from device memory to device memory through
 * the C API, as a fraction of what memory allows.
 *
 *     dwt_bench [--log2 N] [1d | modes | filters | batch | types | small | host | 2d |
 *               stationary ...]
 *
 * The roof is a one-shot copy, one float4 a thread, in the same run: 8 bytes a float32
 * sample, as a transform reads and writes each once. Medians of 9 runs of 2 to 100 calls,
 * 2^29 samples where calls are long enough, by CUDA events, over buffers that rotate
 * through 2^N samples (28), past the L2 cache. Each case is also a round trip, whose
 * largest error is printed; the outputs are poisoned before it. The stationary transform
 * has the copy of as many bytes as it must read and write for its roof. */
#include <cufilter/cufilter.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

namespace {

constexpr int RUNS = 9;

#define REQUIRE_CUDA(call)                                                               \
    do {                                                                                 \
        const cudaError_t error_ = (call);                                               \
        if (error_ != cudaSuccess) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));              \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)
#define REQUIRE(call)                                                                    \
    do {                                                                                 \
        if ((call) != CUFILTER_OK) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, cufilter_last_error());                   \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

struct memory {
    float *x, *y, *z;
    unsigned* error;
    size_t n, spare; /* floats of each; y and z have `spare` more */
    double bandwidth;
};

__global__ void fill(float* x, size_t n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    x[i] = (int)(unsigned)z * 4.656612873e-10f;
}

__global__ void fill(double* x, size_t n)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = sin(0.37 * (double)i) + 1e-3 * (double)(i % 1009);
}

__global__ void copy(const float4* from, float4* to)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    to[i] = from[i];
}

/* The largest difference, as the bits of a float; NaN is above all. */
template <class R>
__global__ void compare(const R* x, const R* z, size_t n, unsigned* error)
{
    float worst = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const float e = (float)fabs((double)x[i] - (double)z[i]);
        worst = e <= worst ? worst : isnan(e) ? INFINITY : e;
    }
    atomicMax(error, __float_as_uint(worst));
}

template <class F>
double seconds_of(cudaStream_t stream, int calls, const F& call)
{
    cudaEvent_t begin, end;
    std::vector<double> times;
    REQUIRE_CUDA(cudaEventCreate(&begin));
    REQUIRE_CUDA(cudaEventCreate(&end));
    for (int run = -2; run < RUNS; ++run) {
        float ms;
        REQUIRE_CUDA(cudaEventRecord(begin, stream));
        for (int i = 0; i < calls; ++i)
            call(i);
        REQUIRE_CUDA(cudaEventRecord(end, stream));
        REQUIRE_CUDA(cudaEventSynchronize(end));
        REQUIRE_CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (run >= 0)
            times.push_back(ms * 1e-3 / calls);
    }
    REQUIRE_CUDA(cudaEventDestroy(begin));
    REQUIRE_CUDA(cudaEventDestroy(end));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

memory make_memory(int log2)
{
    memory m{};
    m.n = (size_t)1 << log2;
    m.spare = m.n / 4 + 65536;
    REQUIRE_CUDA(cudaMalloc(&m.x, (m.n + m.spare) * sizeof(float)));
    REQUIRE_CUDA(cudaMalloc(&m.y, (m.n + m.spare) * sizeof(float)));
    REQUIRE_CUDA(cudaMalloc(&m.z, (m.n + m.spare) * sizeof(float)));
    REQUIRE_CUDA(cudaMalloc(&m.error, sizeof *m.error));
    fill<<<(unsigned)((m.n + m.spare + 255) / 256), 256>>>(m.x, m.n + m.spare);
    REQUIRE_CUDA(cudaGetLastError());
    const double t = seconds_of(nullptr, 2, [&](int) {
        copy<<<(unsigned)(m.n / 4 / 512), 512>>>((const float4*)m.x, (float4*)m.y);
        REQUIRE_CUDA(cudaGetLastError());
    });
    m.bandwidth = (double)m.n * 8 / t;
    return m;
}

struct transform {
    const char* wavelet;
    enum cufilter_dwt_mode mode;
    int rank;
    size_t rows, cols;
    int levels;
    enum cufilter_dwt_type type;
};

const char* mode_name(enum cufilter_dwt_mode mode)
{
    static const char* const names[] = {"zero",     "constant", "symmetric",
                                        "periodic", "smooth",   "periodization",
                                        "reflect",  "antisym.", "antireflect"};
    return names[mode];
}

/* Of m.x by way of m.y to m.z: there(), then back(). */
template <class R, class There, class Back>
double round_trip(const memory& m, size_t reals, There there, Back back)
{
    float worst;
    REQUIRE_CUDA(cudaMemset(m.y, 0xff, (m.n + m.spare) * sizeof(float)));
    REQUIRE_CUDA(cudaMemset(m.z, 0xff, (m.n + m.spare) * sizeof(float)));
    REQUIRE_CUDA(cudaMemset(m.error, 0, sizeof *m.error));
    fill<<<(unsigned)((reals + 255) / 256), 256>>>((R*)m.x, reals);
    REQUIRE_CUDA(cudaDeviceSynchronize());
    there();
    back();
    compare<<<1024, 256>>>((const R*)m.x, (const R*)m.z, reals, m.error);
    REQUIRE_CUDA(cudaGetLastError());
    REQUIRE_CUDA(cudaMemcpy(&worst, m.error, sizeof worst, cudaMemcpyDeviceToHost));
    return worst;
}

void measure(const memory& m, const transform& t)
{
    struct cufilter_dwt_config config;
    cufilter_dwt* d;
    cufilter_dwt_defaults(&config, t.wavelet, t.rank, t.rows, t.cols);
    config.device = 0;
    config.type = t.type;
    config.mode = t.mode;
    config.levels = t.levels;
    if (cufilter_dwt_create(&d, &config) != CUFILTER_OK) {
        printf("%s\n", cufilter_last_error());
        return;
    }
    const size_t reals_in_floats = t.type == CUFILTER_DWT_F32 ? 1 : 2;
    const size_t n = t.rows * t.cols, floats = n * reals_in_floats;
    const size_t coefs = cufilter_dwt_coef_count(d) * (t.rank == 2 ? 1 : t.rows);
    const size_t coef_floats = coefs * reals_in_floats;
    const size_t step = (std::max(floats, coef_floats) + 3) / 4 * 4;
    if (step > m.n + m.spare) {
        printf("does not fit: %zu\n", n);
        return;
    }
    const auto there = [&] { REQUIRE(cufilter_dwt_forward(d, m.x, 0, m.y, 0)); };
    const auto back = [&] {
        REQUIRE(cufilter_dwt_inverse(d, m.y, 0, m.z, 0));
        REQUIRE(cufilter_dwt_synchronize(d));
    };
    const double error = t.type == CUFILTER_DWT_F64
                             ? round_trip<double>(m, n, there, back)
                             : round_trip<float>(m, floats, there, back);
    const size_t places = std::max<size_t>(1, (m.n + m.spare) / step);
    const int calls =
        (int)std::min<size_t>(100, std::max<size_t>(2, ((size_t)1 << 29) / n));
    cudaStream_t const stream = (cudaStream_t)cufilter_dwt_get_stream(d);
    double seconds[2];
    for (int inverse = 0; inverse < 2; ++inverse)
        seconds[inverse] = seconds_of(stream, calls, [&](int i) {
            const size_t at = (size_t)i % places * step;
            if (inverse)
                REQUIRE(cufilter_dwt_inverse(d, m.y + at, 0, m.z + at, 0));
            else
                REQUIRE(cufilter_dwt_forward(d, m.x + at, 0, m.y + at, 0));
        });
    const double ideal = 8.0 * (double)floats / m.bandwidth;
    printf("%-8s %-13s %zux%zu%s L%d: %7.1f GS/s %5.3f %9.2f us | inverse %7.1f %5.3f "
           "%9.2f | %.1e\n",
           t.wavelet, mode_name(t.mode), t.rows, t.cols,
           t.type == CUFILTER_DWT_F32   ? ""
           : t.type == CUFILTER_DWT_F64 ? " f64"
                                        : " c64",
           cufilter_dwt_get_levels(d), (double)n / seconds[0] * 1e-9, ideal / seconds[0],
           seconds[0] * 1e6, (double)n / seconds[1] * 1e-9, ideal / seconds[1],
           seconds[1] * 1e6, error);
    fflush(stdout);
    cufilter_dwt_destroy(d);
}

struct stationary {
    const char* wavelet;
    size_t rows, cols;
    int levels, start_level;
    enum cufilter_dwt_type type;
};

void measure(const memory& m, const stationary& t)
{
    struct cufilter_swt_config config;
    cufilter_swt* s;
    cufilter_swt_defaults(&config, t.wavelet, t.rows, t.cols, t.levels);
    config.device = 0;
    config.type = t.type;
    config.start_level = t.start_level;
    REQUIRE(cufilter_swt_create(&s, &config));
    const size_t n = t.rows * t.cols, floats = n * (t.type == CUFILTER_DWT_F32 ? 1 : 2);
    const size_t bands = cufilter_swt_band_count(s);
    const size_t step = (bands * floats + 3) / 4 * 4;
    if (step > m.n + m.spare) {
        printf("does not fit: %zu\n", n);
        cufilter_swt_destroy(s);
        return;
    }
    const auto there = [&] { REQUIRE(cufilter_swt_forward(s, m.x, 0, m.y, 0)); };
    const auto back = [&] {
        REQUIRE(cufilter_swt_inverse(s, m.y, 0, m.z, 0));
        REQUIRE(cufilter_swt_synchronize(s));
    };
    const double error = t.type == CUFILTER_DWT_F64
                             ? round_trip<double>(m, n, there, back)
                             : round_trip<float>(m, floats, there, back);
    const size_t places = (m.n + m.spare) / step;
    const int calls =
        (int)std::min<size_t>(100, std::max<size_t>(2, ((size_t)1 << 28) / n));
    cudaStream_t const stream = (cudaStream_t)cufilter_swt_get_stream(s);
    double seconds[2];
    for (int inverse = 0; inverse < 2; ++inverse)
        seconds[inverse] = seconds_of(stream, calls, [&](int i) {
            const size_t at = (size_t)i % places * step;
            if (inverse)
                REQUIRE(cufilter_swt_inverse(s, m.y + at, 0, m.z + at, 0));
            else
                REQUIRE(cufilter_swt_forward(s, m.x + at, 0, m.y + at, 0));
        });
    const double ideal = 4.0 * (double)((bands + 1) * floats) / m.bandwidth;
    printf("%-8s stationary %zux%zu%s L%d from %d: %7.1f GS/s %5.3f %9.2f us | inverse "
           "%7.1f %5.3f %9.2f | %.1e\n",
           t.wavelet, t.rows, t.cols,
           t.type == CUFILTER_DWT_F32   ? ""
           : t.type == CUFILTER_DWT_F64 ? " f64"
                                        : " c64",
           t.levels, t.start_level, (double)n / seconds[0] * 1e-9, ideal / seconds[0],
           seconds[0] * 1e6, (double)n / seconds[1] * 1e-9, ideal / seconds[1],
           seconds[1] * 1e6, error);
    fflush(stdout);
    cufilter_swt_destroy(s);
}

constexpr auto PER = CUFILTER_DWT_PERIODIZATION;
constexpr auto SYM = CUFILTER_DWT_SYMMETRIC;
constexpr auto F32 = CUFILTER_DWT_F32;

void signals(const memory& m)
{
    for (size_t n : {m.n, m.n / 4, m.n / 64})
        for (int levels : {1, 5, -1})
            measure(m, {"db4", PER, 1, 1, n, levels, F32});
    for (int levels : {1, 5, -1})
        measure(m, {"db4", SYM, 1, 1, m.n / 4, levels, F32});
    for (int levels : {1, 5})
        measure(m, {"db4", PER, 1, 1, m.n / 4 + 3, levels, F32});
}

void modes(const memory& m)
{
    for (int mode = 0; mode < 9; ++mode)
        for (int levels : {1, 5})
            measure(
                m, {"db4", (enum cufilter_dwt_mode)mode, 1, 1, m.n / 4 + 1, levels, F32});
}

void filters(const memory& m)
{
    for (const char* w : {"haar", "db2", "db3", "bior3.3", "db5", "db6", "db7", "db8",
                          "db9", "db10", "db19", "db38", "coif17"})
        for (int levels : {1, 5})
            measure(m, {w, PER, 1, 1, m.n / 4, levels, F32});
}

void batches(const memory& m)
{
    for (size_t cols : {64, 1000, 1024, 4096, 8192, 65536})
        for (auto mode : {PER, SYM})
            for (int levels : {1, -1})
                measure(m, {"db4", mode, 1, m.n / 4 / cols, cols, levels, F32});
}

void types(const memory& m)
{
    for (auto type : {CUFILTER_DWT_F64, CUFILTER_DWT_C64})
        for (const char* w : {"haar", "db4", "db10"})
            for (int levels : {1, 5})
                measure(m, {w, SYM, 1, 1, m.n / 4, levels, type});
}

void small(const memory& m)
{
    for (int log2 = 8; log2 <= 22; log2 += 2)
        for (int levels : {1, -1})
            measure(m, {"db4", SYM, 1, 1, (size_t)1 << log2, levels, F32});
}

/* Vectors from host to host memory, the time of a call with all that belongs to it. */
void host_memory(const memory&)
{
    for (bool pinned : {true, false})
        for (size_t rows : {1, 16, 256, 4096}) {
            const size_t cols = 1024;
            struct cufilter_dwt_config config;
            cufilter_dwt* d;
            cufilter_dwt_defaults(&config, "db4", 1, rows, cols);
            config.device = 0;
            config.mode = PER;
            REQUIRE(cufilter_dwt_create(&d, &config));
            std::vector<float> x(rows * cols, 1), y(rows * cufilter_dwt_coef_count(d));
            if (pinned) {
                REQUIRE(cufilter_buffer_register(0, x.data(), x.size() * sizeof(float)));
                REQUIRE(cufilter_buffer_register(0, y.data(), y.size() * sizeof(float)));
            }
            std::vector<double> times;
            for (int run = -5; run < 40; ++run) {
                const auto begin = std::chrono::steady_clock::now();
                REQUIRE(cufilter_dwt_forward(d, x.data(), 0, y.data(), 0));
                const std::chrono::duration<double> t =
                    std::chrono::steady_clock::now() - begin;
                if (run >= 0)
                    times.push_back(t.count());
            }
            std::sort(times.begin(), times.end());
            const double t = times[times.size() / 2];
            printf("db4 %s memory, %zu x %zu, L%d: %.1f us, %.2f GS/s\n",
                   pinned ? "registered" : "pageable", rows, cols,
                   cufilter_dwt_get_levels(d), t * 1e6, (double)x.size() / t * 1e-9);
            if (pinned) {
                REQUIRE(cufilter_buffer_unregister(0, x.data()));
                REQUIRE(cufilter_buffer_unregister(0, y.data()));
            }
            cufilter_dwt_destroy(d);
        }
}

void stationaries(const memory& m)
{
    const size_t n = m.n / 8;
    for (int levels : {1, 2, 3, 4, 5, 8})
        measure(m, stationary{"db4", 1, n, levels, 0, F32});
    for (int start = 1; start <= 12; ++start)
        measure(m, stationary{"db4", 1, n, 1, start, F32});
    measure(m, stationary{"db4", 1, n, 1, 20, F32});
    for (int levels : {1, 5})
        measure(m, stationary{"db4", 1, n + 1, levels, 0, F32});
    measure(m, stationary{"db4", 1, n + 1, 1, 8, F32});
    for (const char* w : {"haar", "db2", "db3", "db5", "db8", "db10", "db19", "coif17"})
        for (int start : {0, 8})
            measure(m, stationary{w, 1, n, 1, start, F32});
    for (const char* w : {"haar", "db8", "coif17"})
        measure(m, stationary{w, 1, n, 5, 0, F32});
    for (auto type : {CUFILTER_DWT_F64, CUFILTER_DWT_C64})
        for (const char* w : {"db4", "db10"}) {
            for (int start : {0, 8})
                measure(m, stationary{w, 1, n / 2, 1, start, type});
            measure(m, stationary{w, 1, n / 2, 5, 0, type});
        }
    for (size_t cols : {64, 256, 1000, 1024, 4096, 65536})
        for (int levels : {1, 5})
            measure(m, stationary{"db4", n / cols, cols, levels, 0, F32});
    for (int log2 = 10; log2 <= 22; log2 += 4)
        for (int levels : {1, 5})
            measure(m, stationary{"db4", 1, (size_t)1 << log2, levels, 0, F32});
}

void images(const memory& m)
{
    for (const char* w : {"db4", "bior3.3"})
        for (auto mode : {PER, SYM})
            for (size_t n = 1024; n * n <= m.n; n *= n == 1024 ? 4 : 2)
                for (int levels : {1, 3})
                    measure(m, {w, mode, 2, n, n, levels, F32});
}

} // namespace

int main(int argc, char** argv)
{
    const struct {
        const char* name;
        void (*run)(const memory&);
    } suites[] = {{"1d", signals},       {"modes", modes}, {"filters", filters},
                  {"batch", batches},    {"types", types}, {"small", small},
                  {"host", host_memory}, {"2d", images},   {"stationary", stationaries}};
    int log2 = 28;
    std::vector<const char*> names;
    for (int i = 1; i < argc; ++i) {
        if (!strcmp(argv[i], "--log2") && i + 1 < argc)
            log2 = atoi(argv[++i]);
        else
            names.push_back(argv[i]);
    }
    struct cufilter_device_info info;
    if (cufilter_device_get_info(0, &info) != CUFILTER_OK || !info.usable) {
        printf("skipped: no usable GPU\n");
        return 77;
    }
    const memory m = make_memory(log2);
    printf("%s; copy %.0f GB/s: %.0f GS/s of float32\n", info.name, m.bandwidth * 1e-9,
           m.bandwidth / 8e9);
    printf("wavelet, mode, rows x cols, levels: rate, fraction of the roof, time | the "
           "same back | error of the round trip\n");
    for (const auto& suite : suites)
        if (names.empty() || std::any_of(names.begin(), names.end(), [&](const char* n) {
                return !strcmp(n, suite.name);
            }))
            suite.run(m);
    return 0;
}
