/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The wavelet kernels for images at their seam, on a GPU: types, modes, filters, sizes,
 * levels, pitches and alignments against float64; poisoned outputs with guard zones; the
 * same bits from run to run. Exits with 77 where there is no GPU.
 *
 *     dwt_kernels_test [test [cases [seed]] | bench] */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>
#include "../cuda/dwt/dwt_2d.h"
#include "support/cuda_checks.h"

namespace {

constexpr size_t guard = 64; /* output items before and after */
constexpr unsigned char poison = 0xff;

int failures = 0;

using image = std::vector<double>;

struct random_source {
    std::mt19937_64 engine;
    int operator()(int low, int high) /* both included */
    {
        return low + (int)(engine() % (uint64_t)(high - low + 1));
    }
    double unit() { return (double)(*this)(-1000000, 1000000) * 1e-6; }
    template <class V>
    auto of(const V& v)
    {
        return v[(size_t)(*this)(0, (int)v.size() - 1)];
    }
};

/* A specification as cufilter_dwt_create() makes it. */
struct spec_owner {
    struct dwt_spec s = {};
    std::vector<double> taps;

    spec_owner(enum cufilter_dwt_type type, enum cufilter_dwt_mode mode, size_t rows,
               size_t cols, int levels, std::vector<double> taps_)
        : taps(std::move(taps_))
    {
        const size_t n = taps.size() / 4;
        s.type = type, s.mode = mode, s.rank = 2, s.levels = levels;
        s.rows = rows, s.cols = cols, s.filter_length = n;
        s.dec_lo = taps.data(), s.dec_hi = s.dec_lo + n;
        s.rec_lo = s.dec_hi + n, s.rec_hi = s.rec_lo + n;
        std::vector<size_t> band;
        for (int l = 0; l < levels; ++l) {
            check_status(dwt_axis_init(&s.horizontal[l], cols, n, mode));
            check_status(dwt_axis_init(&s.vertical[l], rows, n, mode));
            cols = s.horizontal[l].n_coefs, rows = s.vertical[l].n_coefs;
            band.push_back(rows * cols);
        }
        s.n_coefs = s.approximation = rows * cols;
        for (int l = levels; l-- > 0;) {
            s.detail[l] = s.n_coefs;
            s.n_coefs += 3 * band[(size_t)l];
        }
    }
    ~spec_owner()
    {
        for (int l = 0; l < s.levels; ++l) {
            dwt_axis_free(&s.horizontal[l]);
            dwt_axis_free(&s.vertical[l]);
        }
    }
    spec_owner(const spec_owner&) = delete;
    spec_owner& operator=(const spec_owner&) = delete;
};

std::vector<double> wavelet(const char* name)
{
    size_t n = 0;
    check_status(cufilter_dwt_wavelet(name, &n, nullptr, nullptr, nullptr, nullptr, 0));
    std::vector<double> t(4 * n);
    double* const p = t.data();
    check_status(cufilter_dwt_wavelet(name, &n, p, p + n, p + 2 * n, p + 3 * n, n));
    return t;
}

/* ------------------------------------------------------------------ reference */

template <class R>
R item_of(const struct dwt_axis& a, const R* x, size_t step, ptrdiff_t k)
{
    const ptrdiff_t n = (ptrdiff_t)a.n;
    if (k >= 0 && k < n)
        return x[(size_t)k * step];
    const struct dwt_term& t = k < 0 ? a.left[-1 - k] : a.right[k - n];
    const R v = t.scale == 0 ? 0 : (R)t.scale * x[t.index * step];
    return v + (R)t.first * x[0] + (R)t.last * x[(a.n - 1) * step];
}

/* n signals, step `across` apart, items `along` apart. */
template <class R>
void analyze(const struct dwt_axis& a, const double* lo_taps, const double* hi_taps,
             size_t F, const R* x, size_t n, size_t across, size_t along, R* lo, R* hi,
             size_t out_across, size_t out_along)
{
    for (size_t r = 0; r < n; ++r)
        for (size_t o = 0; o < a.n_coefs; ++o) {
            R l = 0, h = 0;
            for (size_t i = 0; i < F; ++i) {
                const R v = item_of(a, x + r * across, along,
                                    2 * (ptrdiff_t)o + a.start + (ptrdiff_t)i);
                l += (R)lo_taps[F - 1 - i] * v;
                h += (R)hi_taps[F - 1 - i] * v;
            }
            lo[r * out_across + o * out_along] = l;
            hi[r * out_across + o * out_along] = h;
        }
}
template <class R>
void synthesize(const struct dwt_axis& a, bool periodized, const double* lo_taps,
                const double* hi_taps, size_t F, const R* lo, const R* hi, size_t n,
                size_t across, size_t along, R* y, size_t out_across, size_t out_along)
{
    const ptrdiff_t period = (ptrdiff_t)a.n_coefs;
    const ptrdiff_t r = (ptrdiff_t)(periodized ? F / 2 - 1 : F - 2);
    for (size_t s = 0; s < n; ++s)
        for (ptrdiff_t i = 0; i < (ptrdiff_t)a.n; ++i) {
            R v = 0;
            for (ptrdiff_t t = (i + r) % 2; t < (ptrdiff_t)F; t += 2) {
                ptrdiff_t k = (i + r - t) / 2; /* t = i + r - 2k */
                if (!periodized && (k < 0 || k >= period))
                    continue;
                k = ((k % period) + period) % period;
                v += (R)lo_taps[t] * lo[s * across + (size_t)k * along] +
                     (R)hi_taps[t] * hi[s * across + (size_t)k * along];
            }
            y[s * out_across + (size_t)i * out_along] = v;
        }
}

/* One part (real, imaginary) of all coefficients, in sums of type R. */
template <class R>
std::vector<R> forward_of(const struct dwt_spec& s, std::vector<R> x)
{
    std::vector<R> coefs(s.n_coefs);
    for (int l = 0; l < s.levels; ++l) {
        const struct dwt_axis &v = s.vertical[l], &h = s.horizontal[l];
        const size_t w = h.n_coefs, band = w * v.n_coefs;
        std::vector<R> lo(v.n * w), hi(v.n * w), a(band);
        analyze(h, s.dec_lo, s.dec_hi, s.filter_length, x.data(), v.n, h.n, 1, lo.data(),
                hi.data(), w, 1);
        R* const d = coefs.data() + s.detail[l];
        analyze(v, s.dec_lo, s.dec_hi, s.filter_length, lo.data(), w, 1, w, a.data(), d,
                1, w);
        analyze(v, s.dec_lo, s.dec_hi, s.filter_length, hi.data(), w, 1, w, d + band,
                d + 2 * band, 1, w);
        x = a;
    }
    std::copy(x.begin(), x.end(), coefs.begin());
    return coefs;
}
template <class R>
std::vector<R> inverse_of(const struct dwt_spec& s, const std::vector<R>& coefs)
{
    const bool per = s.mode == CUFILTER_DWT_PERIODIZATION;
    std::vector<R> a(coefs.begin(), coefs.begin() + (ptrdiff_t)s.approximation);
    for (int l = s.levels; l-- > 0;) {
        const struct dwt_axis &v = s.vertical[l], &h = s.horizontal[l];
        const size_t w = h.n_coefs, band = w * v.n_coefs;
        const R* const d = coefs.data() + s.detail[l];
        std::vector<R> lo(v.n * w), hi(v.n * w), y(v.n * h.n);
        synthesize(v, per, s.rec_lo, s.rec_hi, s.filter_length, a.data(), d, w, 1, w,
                   lo.data(), 1, w);
        synthesize(v, per, s.rec_lo, s.rec_hi, s.filter_length, d + band, d + 2 * band, w,
                   1, w, hi.data(), 1, w);
        synthesize(h, per, s.rec_lo, s.rec_hi, s.filter_length, lo.data(), hi.data(), v.n,
                   w, 1, y.data(), h.n, 1);
        a = y;
    }
    return a;
}

/* What a transform may be off by, over its largest value: eight times what plain sums in
 * single precision on the host are, and four last places. */
double error_bar(const struct dwt_spec& s, bool inverse, const std::vector<image>& x,
                 const std::vector<image>& want)
{
    double error = 0, most = 1e-300;
    for (size_t k = 0; k < x.size(); ++k) {
        const std::vector<float> single(x[k].begin(), x[k].end());
        const std::vector<float> y =
            inverse ? inverse_of(s, single) : forward_of(s, single);
        for (size_t i = 0; i < y.size(); ++i) {
            error = std::max(error, std::fabs(y[i] - want[k][i]));
            most = std::max(most, std::fabs(want[k][i]));
        }
    }
    return (8 * error / most + 0x1p-22) * (s.type == CUFILTER_DWT_F64 ? 0x1p-29 : 1);
}

/* ------------------------------------------------------------------ on the GPU */

/* Device memory of exactly n bytes, so that memcheck sees what reads beyond. */
struct device_bytes {
    unsigned char* p = nullptr;
    size_t n;
    explicit device_bytes(size_t bytes) : n(bytes)
    {
        check_cuda(cudaMalloc((void**)&p, n), "cudaMalloc");
        fill_device(p, poison, n);
    }
    ~device_bytes() { cudaFree(p); }
    device_bytes(const device_bytes&) = delete;
    device_bytes& operator=(const device_bytes&) = delete;
    std::vector<unsigned char> get() const
    {
        std::vector<unsigned char> v(n);
        check_cuda(cudaMemcpy(v.data(), p, n, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return v;
    }
};

struct engine_owner {
    struct dwt_engine* e = nullptr;
    explicit engine_owner(const struct dwt_spec& s)
    {
        check_status(dwt_engine_2d.make(&e, &s));
    }
    ~engine_owner() { dwt_engine_2d.free(e); }
};

/* Rows of `cols` items of all parts at a pitch, as bytes. */
void put(std::vector<unsigned char>& to, size_t at, enum cufilter_dwt_type type,
         const std::vector<image>& parts, size_t i)
{
    const size_t n = parts.size(), real = type == CUFILTER_DWT_F64 ? 8 : 4;
    for (size_t k = 0; k < n; ++k) {
        const float f = (float)parts[k][i];
        std::memcpy(&to[(at * n + k) * real], real == 8 ? (const void*)&parts[k][i] : &f,
                    real);
    }
}
double get(const std::vector<unsigned char>& from, size_t at, enum cufilter_dwt_type type,
           size_t parts, size_t k)
{
    if (type == CUFILTER_DWT_F64) {
        double d;
        std::memcpy(&d, &from[at * 8], 8);
        return d;
    }
    float f;
    std::memcpy(&f, &from[(at * parts + k) * 4], 4);
    return f;
}

struct rectangle {
    size_t rows, cols, pitch, offset; /* of the first item, before it poison */
    size_t items() const { return offset + (rows - 1) * pitch + cols; }
};

std::vector<unsigned char> bytes_of(const rectangle& r, enum cufilter_dwt_type type,
                                    const std::vector<image>& parts)
{
    std::vector<unsigned char> v(r.items() * dwt_item_bytes(type), poison);
    for (size_t i = 0; i < r.rows * r.cols; ++i)
        put(v, r.offset + i / r.cols * r.pitch + i % r.cols, type, parts, i);
    return v;
}

/* Largest error over largest value; 1e9 where anything else was written. */
double error_of(const std::vector<unsigned char>& got, const rectangle& r,
                enum cufilter_dwt_type type, const std::vector<image>& want)
{
    const size_t item = dwt_item_bytes(type), n = want.size();
    double error = 0, most = 1e-300;
    std::vector<bool> inside(got.size() / item, false);
    for (size_t i = 0; i < r.rows * r.cols; ++i) {
        const size_t at = r.offset + i / r.cols * r.pitch + i % r.cols;
        inside[at] = true;
        for (size_t k = 0; k < n; ++k) {
            const double e = std::fabs(get(got, at, type, n, k) - want[k][i]);
            error = e <= error ? error : std::isfinite(e) ? e : 1e9;
            most = std::max(most, std::fabs(want[k][i]));
        }
    }
    for (size_t i = 0; i < inside.size() * item; ++i)
        if (!inside[i / item] && got[i] != poison)
            return 1e9;
    return error / most;
}

std::vector<image> random_parts(random_source& random, enum cufilter_dwt_type type,
                                size_t n)
{
    std::vector<image> parts(type == CUFILTER_DWT_C64 ? 2 : 1, image(n));
    for (image& p : parts)
        for (double& v : p)
            v = type == CUFILTER_DWT_F64 ? random.unit() : (float)random.unit();
    return parts;
}

struct test_case {
    enum cufilter_dwt_type type;
    enum cufilter_dwt_mode mode;
    size_t rows, cols, pitch, offset, coef_offset;
    int levels;
    std::string filter;
    std::vector<double> taps;
    struct dwt_2d_shape shape;
};

void run_twice(const std::function<void()>& run, const device_bytes& out,
               std::vector<unsigned char>& got)
{
    std::vector<unsigned char> again;
    for (auto* to : {&got, &again}) {
        fill_device(out.p, poison, out.n);
        run();
        check_cuda(cudaDeviceSynchronize(), "run");
        *to = out.get();
    }
    if (again != got)
        got.assign(got.size(), 0x7f); /* differs from run to run: fails below */
}

void run_case(const test_case& c, random_source& random, int number)
{
    const spec_owner owner(c.type, c.mode, c.rows, c.cols, c.levels, c.taps);
    const struct dwt_spec& s = owner.s;
    const engine_owner engine(s);
    dwt_2d_set_shape(engine.e, c.shape);
    const size_t item = dwt_item_bytes(c.type);
    double error[2], bar[2];
    for (int inverse = 0; inverse < 2; ++inverse) {
        const rectangle data = {c.rows, c.cols, c.pitch, c.offset};
        const rectangle coefs = {1, s.n_coefs, s.n_coefs, c.coef_offset};
        const rectangle &from = inverse ? coefs : data, &to = inverse ? data : coefs;
        const std::vector<image> x = random_parts(random, c.type, from.rows * from.cols);
        std::vector<image> want;
        for (const image& p : x)
            want.push_back(inverse ? inverse_of(s, p) : forward_of(s, p));
        const std::vector<unsigned char> bytes = bytes_of(from, c.type, x);
        device_bytes in(bytes.size()), out((to.items() + 2 * guard) * item);
        copy_to_device(in.p, bytes.data(), in.n);
        const void* const x0 = in.p + from.offset * item;
        void* const y0 = out.p + (guard + to.offset) * item;
        std::vector<unsigned char> got;
        run_twice(
            [&] {
                check_status(
                    inverse
                        ? dwt_engine_2d.inverse(engine.e, x0, 0, y0, c.pitch, nullptr)
                        : dwt_engine_2d.forward(engine.e, x0, c.pitch, y0, 0, nullptr));
            },
            out, got);
        rectangle where = to;
        where.offset += guard;
        error[inverse] = error_of(got, where, c.type, want);
        bar[inverse] = error_bar(s, inverse, x, want);
    }
    if (error[0] <= bar[0] && error[1] <= bar[1])
        return;
    ++failures;
    std::printf(
        "case %d: type %d mode %d %s (%zu taps) %zu x %zu, pitch %zu, offsets %zu "
        "%zu, %d levels, shape %d %d %d: errors %.1e %.1e, "
        "bars %.1e %.1e\n",
        number, c.type, c.mode, c.filter.c_str(), s.filter_length, c.rows, c.cols,
        c.pitch, c.offset, c.coef_offset, c.levels, c.shape.warps, c.shape.stages,
        c.shape.rows, error[0], error[1], bar[0], bar[1]);
}

test_case make_case(random_source& random, int number)
{
    static const std::vector<std::string> names = {
        "haar", "db2", "db3",  "db4",  "bior3.3", "db5",  "bior4.4", "db6",
        "db7",  "db8", "sym9", "db10", "bior6.8", "db11", "coif17"};
    static const std::vector<int> sizes = {1, 2, 3, 5, 7, 8, 17, 31, 64, 100, 129};
    test_case c;
    c.type = (enum cufilter_dwt_type)(number % 3);
    c.mode = (enum cufilter_dwt_mode)(number / 3 % 9);
    c.rows = (size_t)(random(0, 1) ? random.of(sizes) : random(1, 150));
    c.cols = (size_t)(random(0, 2) ? random(1, 1400) : random.of(sizes));
    if (random(0, 3) == 0)
        std::swap(c.rows, c.cols);
    c.pitch = c.cols + (size_t)random(0, 3) * (size_t)random(0, 3);
    c.offset = (size_t)random(0, 4), c.coef_offset = (size_t)random(0, 4);
    c.levels = random(0, 3) ? 1 : random(1, 5);
    c.filter = random.of(names);
    c.taps = wavelet(c.filter.c_str());
    if (random(0, 4) == 0) {
        c.filter = "custom";
        const size_t longest = random(0, 7) ? 20 : 600;
        c.taps.resize(4 * 2 * (size_t)random(1, (int)longest / 2));
        for (double& t : c.taps)
            t = random.unit() * 0.5;
    }
    c.shape = {};
    if (random(0, 1))
        c.shape = {random(1, 4), random(1, 5), random(1, 40)};
    return c;
}

int test(int cases, uint64_t seed)
{
    random_source random{std::mt19937_64(seed)};
    for (int i = 0; i < cases; ++i)
        run_case(make_case(random, i), random, i);
    std::printf("%d cases, %d failures\n", cases, failures);
    return failures ? 1 : 0;
}

/* ------------------------------------------------------------------ bench */

__global__ void copy_kernel(const float4* x, float4* y)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    y[i] = x[i];
}
__global__ void noise_kernel(float* x, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        uint64_t z = (i + 1) * 0x9E3779B97F4A7C15ull;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z ^= z >> 27;
        x[i] = (float)(int32_t)z * (1.0f / 2147483648.0f);
    }
}

/* Seconds a call, of a graph of `calls` calls, the median of seven. */
double time_of(int calls, const std::function<void(int, cudaStream_t)>& call)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    check_cuda(cudaStreamCreate(&stream), "stream");
    check_cuda(cudaEventCreate(&begin), "event");
    check_cuda(cudaEventCreate(&end), "event");
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < calls; ++i)
        call(i, stream);
    check_cuda(cudaStreamEndCapture(stream, &graph), "capture");
    check_cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    std::vector<float> ms(8);
    for (float& t : ms) {
        check_cuda(cudaEventRecord(begin, stream), "record");
        check_cuda(cudaGraphLaunch(exec, stream), "launch");
        check_cuda(cudaEventRecord(end, stream), "record");
        check_cuda(cudaEventSynchronize(end), "run");
        check_cuda(cudaEventElapsedTime(&t, begin, end), "time");
    }
    std::sort(ms.begin() + 1, ms.end());
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaStreamDestroy(stream);
    return ms[4] * 1e-3 / calls;
}

struct bench {
    static constexpr size_t n = (size_t)1 << 28;
    device_bytes x{n * 4}, y{(n + n / 4) * 4};
    double roof; /* 8 bytes in seconds */

    bench()
    {
        noise_kernel<<<2048, 256>>>((float*)x.p, n);
        check_cuda(cudaDeviceSynchronize(), "noise");
        const double t = time_of(4, [&](int, cudaStream_t stream) {
            copy_kernel<<<(unsigned)(n / 4 / 512), 512, 0, stream>>>((const float4*)x.p,
                                                                     (float4*)y.p);
        });
        roof = t / (double)n;
        std::printf("copy roof %.0f GS/s at 8 bytes a sample\n", 1e-9 / roof);
    }

    /* Time in units of the roof's, for one image of a transform. */
    double rate(const char* name, enum cufilter_dwt_type type,
                enum cufilter_dwt_mode mode, size_t rows, size_t cols, int levels,
                bool inverse, struct dwt_2d_shape shape, double* us)
    {
        const spec_owner owner(type, mode, rows, cols, levels, wavelet(name));
        const engine_owner engine(owner.s);
        dwt_2d_set_shape(engine.e, shape);
        const size_t item = dwt_item_bytes(type), image = rows * cols;
        /* Images and coefficients each begin at multiples of 256 bytes. */
        const size_t place = (std::max(image, owner.s.n_coefs) * item + 255) / 256 * 256;
        const int places = (int)std::max<size_t>(1, x.n / place);
        const int calls =
            (int)std::min<size_t>(64, std::max<size_t>(3, ((size_t)1 << 28) / image));
        const double t = time_of(calls, [&](int i, cudaStream_t stream) {
            void* const a = x.p + (size_t)(i % places) * place;
            void* const b = y.p + (size_t)(i % places) * place;
            check_status(inverse
                             ? dwt_engine_2d.inverse(engine.e, a, 0, b, cols, stream)
                             : dwt_engine_2d.forward(engine.e, a, cols, b, 0, stream));
        });
        *us = t * 1e6;
        return roof * (double)image * (double)(item / 4) / t;
    }
    void line(const char* name, enum cufilter_dwt_type type, enum cufilter_dwt_mode mode,
              size_t rows, size_t cols, int levels, struct dwt_2d_shape shape)
    {
        double us[2], part[2];
        for (int inverse = 0; inverse < 2; ++inverse)
            part[inverse] =
                rate(name, type, mode, rows, cols, levels, inverse, shape, &us[inverse]);
        std::printf(
            "%-8s t%d m%d %5zux%-5zu L%d [%d %2d %2d] fwd %.3f %8.2f us  inv %.3f "
            "%8.2f us\n",
            name, type, mode, rows, cols, levels, shape.warps, shape.stages, shape.rows,
            part[0], us[0], part[1], us[1]);
        std::fflush(stdout);
    }
};

void run_bench()
{
    bench b;
    const auto per = CUFILTER_DWT_PERIODIZATION;
    const dwt_2d_shape chosen = {};
    for (size_t n : {1024, 2048, 4096, 8192, 16384})
        for (const char* name : {"bior3.3", "db4"})
            b.line(name, CUFILTER_DWT_F32, per, n, n, 1, chosen);
    for (size_t n : {1024, 4096, 8192, 16384})
        b.line("bior3.3", CUFILTER_DWT_F32, per, n, n, 3, chosen);
    for (int mode = 0; mode < 9; ++mode)
        b.line("db4", CUFILTER_DWT_F32, (enum cufilter_dwt_mode)mode, 4096, 4096, 1,
               chosen);
    for (int mode = 0; mode < 9; ++mode)
        b.line("db4", CUFILTER_DWT_F32, (enum cufilter_dwt_mode)mode, 8192, 8192, 1,
               chosen);
    b.line("db4", CUFILTER_DWT_F32, per, 4095, 4093, 1, chosen);
    b.line("db4", CUFILTER_DWT_F32, CUFILTER_DWT_SYMMETRIC, 8191, 8191, 1, chosen);
    b.line("db4", CUFILTER_DWT_F32, CUFILTER_DWT_SYMMETRIC, 8192, 8192, 3, chosen);
    for (const char* name :
         {"haar", "db2", "db3", "db6", "db8", "db10", "db11", "db20", "coif17"})
        b.line(name, CUFILTER_DWT_F32, per, 8192, 8192, 1, chosen);
    for (const char* name : {"haar", "db4", "db10", "coif17"})
        for (auto type : {CUFILTER_DWT_F64, CUFILTER_DWT_C64})
            b.line(name, type, per, 8192, 4096, 1, chosen);
}

} // namespace

int main(int argc, char** argv)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no GPU: skipped\n");
        return 77;
    }
    const std::string what = argc > 1 ? argv[1] : "test";
    if (what == "bench") {
        run_bench();
        return 0;
    }
    return test(argc > 2 ? std::atoi(argv[2]) : 1000,
                argc > 3 ? (uint64_t)std::strtoull(argv[3], nullptr, 10) : 1);
}
