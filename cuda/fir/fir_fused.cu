/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused overlap-save on the host: the choice of a transform's shape, its tables,
 * launches.
 *
 * A plan holds the shape that is fastest in the long run: a window of N points yields N -
 * overlap outputs, overlap being M - 1 rounded up to whole rows of T, so the rate is the
 * shape's measured points a second times (N - overlap) / N. A smaller shape would finish
 * a short call 2 us sooner, but its outputs round otherwise: with one shape and windows
 * at fixed places, only windows that a call ends in differ from one segmentation to the
 * other. A filter in parts is as many launches. */
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <new>
#include <vector>
#include "fir_fused.cuh"
#include "../core/gpu_stream.h"

using namespace cufilter;

namespace {

using zd = std::complex<double>;
constexpr double pi = 3.14159265358979323846;
constexpr double long_call = 1 << 24; /* items */

enum fused_io io_of(const struct fir_spec* spec)
{
    if (spec->decimation == 1 &&
        (spec->type == CUFILTER_FIR_CCC || spec->type == CUFILTER_FIR_CCF))
        return FUSED_COMPLEX;
    if (spec->decimation == 1 && spec->type == CUFILTER_FIR_FFF)
        return FUSED_REAL;
    return FUSED_ANY;
}

bool real_stream(const struct fir_spec* spec)
{
    return spec->type == CUFILTER_FIR_FFF || spec->type == CUFILTER_FIR_FSF;
}

/* What a shape offers to a filter, a kernel with the overlap built in if there is one;
 * `kernel` is nullptr where the filter is too long for it. A filter in parts has
 * `part_taps` taps in each but the last. */
struct offer {
    const fused_shape* shape = nullptr;
    const void* kernel = nullptr;
    int fold = 1;   /* of the decimation */
    int shared = 0; /* bytes */
    int rows = 0;   /* of overlap */
    int parts = 1;
    size_t part_taps = 0;
    double outputs = 0; /* a window, or pair of windows, at decimation 1 */
    double rate = 0;    /* of windows, a us and part */
};

/* False where even the most parts are too long. */
bool split(offer* o, const fused_shape& s, size_t n_taps)
{
    const int most_rows = s.most_parts > 1 ? s.P / 2 : s.P * 25 / 32;
    for (o->parts = s.most_parts > 1 ? 2 : 1; o->parts <= s.most_parts; ++o->parts) {
        o->part_taps = (n_taps + o->parts - 1) / o->parts;
        o->rows = (int)((o->part_taps - 1 + s.T - 1) / s.T);
        if (o->rows <= most_rows)
            return true;
    }
    return false;
}

offer offer_of(const fused_shape& s, const struct fir_spec* spec, size_t n_taps)
{
    const enum fused_io io = io_of(spec);
    offer o;
    o.shape = &s;
    /* Sums of parts are in float. */
    if (n_taps > (size_t)s.N * s.most_parts || !split(&o, s, n_taps) ||
        (o.parts > 1 && spec->type == CUFILTER_FIR_FSF))
        return o;
    int log2_fold = 0;
    if (io != FUSED_ANY && o.parts > 1) {
        o.kernel = s.open[io];
        o.rate = s.open_points_ns[io] * 1e3 / s.N;
    } else if (io == FUSED_ANY) {
        while (log2_fold < 3 && spec->decimation % ((size_t)2 << log2_fold) == 0)
            ++log2_fold;
        o.kernel = s.any[log2_fold];
        o.fold = 1 << log2_fold;
    }
    for (const fused_kernel* k = s.kernels; !o.kernel && k < s.kernels + s.n_kernels; ++k)
        if (k->overlap_rows >= o.rows) {
            o.rows = k->overlap_rows;
            o.kernel = k->kernel[io];
            o.rate = k->rate[io] * 1e3;
        }
    o.outputs = (double)(s.P - o.rows) * s.T * (real_stream(spec) ? 2 : 1);
    if (o.parts == 1)
        o.rate /= o.outputs;
    if (!o.kernel)
        o.kernel = s.any[0];
    if (o.rate == 0)
        o.rate = s.points_ns[log2_fold] * 1e3 / s.N;
    o.shared = s.shared[log2_fold];
    return o;
}

/* us for a call of n items */
double predicted_us(const offer& o, double n)
{
    return o.parts * (o.shape->latency_us + std::ceil(n / o.outputs) / o.rate);
}

/* What the current device can run of the forced size, or of all. */
offer best_offer(const struct fir_spec* spec, size_t n_taps)
{
    offer best;
    int device = 0, limit = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess)
        return best;
    for (const fused_shapes& list : {fused_short, fused_middle, fused_long, fused_parts})
        for (const fused_shape* s = list.shapes; s < list.shapes + list.n; ++s) {
            if (spec->fft_size != 0 && spec->fft_size != (size_t)s->N)
                continue;
            const offer o = offer_of(*s, spec, n_taps);
            if (o.kernel && o.shared <= limit &&
                (!best.kernel ||
                 predicted_us(o, long_call) < predicted_us(best, long_call)))
                best = o;
        }
    return best;
}

/* In place, decimation in time, twiddles from the table exp(-2 pi i k / N). */
void fft(std::vector<zd>& v)
{
    const size_t n = v.size();
    std::vector<zd> w(n / 2);
    for (size_t k = 0; k < n / 2; ++k)
        w[k] = std::polar(1.0, -2 * pi * (double)k / (double)n);
    for (size_t i = 0; i < n; ++i) {
        const size_t j = (size_t)bit_reverse((int)i, (int)n);
        if (j > i)
            std::swap(v[i], v[j]);
    }
    for (size_t half = 1; half < n; half *= 2)
        for (size_t g = 0; g < n; g += 2 * half)
            for (size_t k = 0; k < half; ++k) {
                const zd b = v[g + k + half] * w[k * (n / 2 / half)];
                v[g + k + half] = v[g + k] - b;
                v[g + k] += b;
            }
}

/* H / N of taps [from, to) in the order of the threads: register pair i of thread t at
 * [i][t]. Appended to `out`. */
void put_response(std::vector<float4>& out, const fused_shape& s,
                  const struct fir_design* design, size_t from, size_t to)
{
    std::vector<zd> H(s.N);
    for (size_t k = from; k < to; ++k)
        H[k - from] = zd(design->h[2 * k], design->h[2 * k + 1]) / (double)s.N;
    fft(H);
    const size_t at = out.size();
    out.resize(at + s.N / 2);
    const int row = s.R3 > 1 ? s.R3 : s.R2, columns = s.R3 > 1 ? s.R2 / s.D : 1;
    for (int t = 0; t < s.T; ++t)
        for (int r = 0; r < s.P; r += 2) {
            const int c = r / row, i = r % row;
            int f = t + s.T * c, step = s.R1;
            if (s.R3 > 1) {
                const int j = t / s.D + s.T / s.D * (c / columns);
                const int j2 = t % s.D + s.D * (c % columns);
                f = j + s.R1 * j2, step = s.R1 * s.R2;
            }
            const zd e = H[f + step * i], o = H[f + step * (i + 1)];
            out[at + r / 2 * s.T + t] = make_float4((float)e.real(), (float)e.imag(),
                                                    (float)o.real(), (float)o.imag());
        }
}

/* Puts the (cos, tan) pairs of a DFT of R points with the twiddle of angle 2 pi num / den
 * in rows `stride` apart, from `at` on. */
void put_twiddle(std::vector<float4>& out, size_t at, size_t stride, int R, double num,
                 double den)
{
    std::vector<float> pairs;
    for (int L = 2; L <= R; L *= 2)
        for (int q = 0; q < std::max(1, L / 4); ++q) {
            const double turns = std::fmod(num * (R / L) / den + (double)q / L, 1.0);
            double c = std::cos(2 * pi * turns);
            if (std::fabs(c) < 1e-9)
                c = c < 0 ? -1e-9 : 1e-9;
            pairs.push_back((float)c);
            pairs.push_back((float)(std::sin(2 * pi * turns) / (double)(float)c));
        }
    if (out.size() < at + (R / 4 - 1) * stride + 1)
        out.resize(at + (R / 4 - 1) * stride + 1);
    for (int i = 0; i < R / 4; ++i)
        out[at + i * stride] = make_float4(pairs[4 * i], pairs[4 * i + 1],
                                           pairs[4 * i + 2], pairs[4 * i + 3]);
}

/* The tables of the twiddled passes, in the order of the kernels' tw[]. */
void twiddle_tables(const fused_shape& s, std::vector<float4> tw[4])
{
    if (s.R3 == 1) {
        for (int j = 0; j < s.R1; ++j)
            put_twiddle(tw[0], j, s.R1, s.R2, j, s.N);
        for (int t = 0; t < s.T; ++t)
            put_twiddle(tw[1], t, s.T, s.R1, t, s.N);
        return;
    }
    const int columns = s.R2 / s.D, items = s.P / s.R3;
    for (int j = 0; j < s.R1; ++j)
        put_twiddle(tw[0], j, s.R1, s.R2, j, (double)s.R1 * s.R2);
    for (int t = 0; t < s.T; ++t)
        for (int c = 0; c < items; ++c) {
            const int j = t / s.D + s.T / s.D * (c / columns);
            const int j2 = t % s.D + s.D * (c % columns);
            put_twiddle(tw[1], (size_t)c * (s.R3 / 4) * s.T + t, s.T, s.R3, j + s.R1 * j2,
                        s.N);
        }
    for (int t0 = 0; t0 < s.R3; ++t0)
        put_twiddle(tw[2], t0, s.R3, s.R2, t0, (double)s.R2 * s.R3);
    for (int t = 0; t < s.T; ++t)
        put_twiddle(tw[3], t, s.T, s.R1, t, s.N);
}

} // namespace

struct fir_fused {
    struct fir_spec spec;
    size_t n_taps;
    offer use;
    float4* memory = nullptr; /* H of every part, then the twiddles */
    const float4* H = nullptr;
    const float4* tw[4] = {};
    int resident = 0;    /* blocks that the GPU holds at once */
    void* sum = nullptr; /* of parts, [sum_items] outputs */
    size_t sum_items = 0;
};

namespace {

enum cufilter_status count_resident(struct fir_fused* f)
{
    int device = 0, multiprocessors = 0, blocks = 0;
    CUFILTER_TRY_CUDA(cudaGetDevice(&device));
    CUFILTER_TRY_CUDA(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    CUFILTER_TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, f->use.kernel, f->use.shape->threads, f->use.shared));
    f->resident = blocks * multiprocessors;
    return CUFILTER_OK;
}

enum cufilter_status make_tables(struct fir_fused* f, const struct fir_design* design)
{
    std::vector<float4> all, tw[4];
    for (size_t from = 0; from < design->n_taps; from += f->use.part_taps)
        put_response(all, *f->use.shape, design, from,
                     std::min(from + f->use.part_taps, design->n_taps));
    twiddle_tables(*f->use.shape, tw);
    size_t offset[4];
    for (int i = 0; i < 4; ++i) {
        offset[i] = all.size();
        all.insert(all.end(), tw[i].begin(), tw[i].end());
    }
    CUFILTER_TRY(cufilter_gpu_upload("fir_fused", (void**)&f->memory, all.data(),
                                     all.size() * sizeof(float4), "response"));
    f->H = f->memory;
    for (int i = 0; i < 4; ++i)
        f->tw[i] = f->memory + offset[i];
    CUFILTER_TRY_CUDA(cudaFuncSetAttribute(
        f->use.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, f->use.shared));
    return count_resident(f);
}

} // namespace

bool fir_fused_supports(const struct fir_spec* spec, size_t n_taps)
{
    return n_taps >= 1 && spec->decimation <= INT32_MAX &&
           best_offer(spec, n_taps).kernel != nullptr;
}

double fir_fused_us(const struct fir_spec* spec, size_t n_taps, size_t n_in)
{
    const offer o = best_offer(spec, n_taps);
    return o.kernel ? predicted_us(o, (double)n_in) : HUGE_VAL;
}

enum cufilter_status fir_fused_make(struct fir_fused** plan, const struct fir_spec* spec,
                                    const struct fir_design* design)
{
    *plan = nullptr;
    const offer use = best_offer(spec, design->n_taps);
    if (!use.kernel)
        return cufilter_fail(CUFILTER_ERR_INVALID,
                             "%s: %zu taps with fft_size %zu exceed the fused kernels of "
                             "this GPU",
                             __func__, design->n_taps, spec->fft_size);
    struct fir_fused* f = new (std::nothrow) fir_fused{*spec, design->n_taps, use};
    if (!f)
        return cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", __func__);
    enum cufilter_status status;
    try {
        status = make_tables(f, design);
    } catch (const std::bad_alloc&) {
        status = cufilter_fail(CUFILTER_ERR_NO_MEMORY, "%s: out of memory", __func__);
    }
    if (status != CUFILTER_OK) {
        fir_fused_free(f);
        return status;
    }
    *plan = f;
    return CUFILTER_OK;
}

enum cufilter_status fir_fused_prepare(struct fir_fused* plan, size_t n)
{
    void* sum = nullptr;
    if (n <= plan->sum_items || plan->use.parts == 1)
        return CUFILTER_OK;
    CUFILTER_TRY_CUDA(cudaMalloc(&sum, n * plan->spec.out_size));
    cudaFree(plan->sum); /* waits for what still uses it */
    plan->sum = sum;
    plan->sum_items = n;
    return CUFILTER_OK;
}

/* Part p of the launch that `args` describes. Only the last one to run, part 0, appends,
 * signals and writes y where that is far. */
static void set_part(fused_args* args, int p, const struct fir_fused* plan,
                     const struct fir_launch* launch)
{
    const bool last = p == 0, first = p == plan->use.parts - 1;
    void* const sum = launch->y_here ? launch->y : plan->sum;
    args->shift = (int64_t)p * (int64_t)plan->use.part_taps;
    args->H = plan->H + (size_t)p * plan->use.shape->N / 2;
    args->sum = first ? nullptr : sum;
    args->s.y = last ? launch->y : sum;
    args->s.append = last && launch->append;
    args->s.flag = last ? launch->flag : nullptr;
}

static int64_t modulo(int64_t n, int64_t d)
{
    return (n % d + d) % d;
}

/* Where the launch's first window has its first new sample. Windows have their places in
 * the stream whatever the calls: what two segmentations share is the same to the bit, and
 * they differ only by windows that a call ends in. Folded windows hold outputs at
 * multiples of the fold, which divides the decimation and their length. */
static int64_t origin_of(const offer& o, const struct fir_launch* launch)
{
    const int64_t phase = modulo(launch->position + launch->first, o.fold);
    return launch->begin -
           modulo(launch->position + launch->begin - phase, (int64_t)o.outputs);
}

enum cufilter_status fir_fused_launch(const struct fir_fused* plan,
                                      const struct fir_launch* launch)
{
    const struct fir_spec* spec = &plan->spec;
    const offer& use = plan->use;
    const fused_shape& shape = *use.shape;
    fused_args args{};
    args.s = make_fir_stream(spec, plan->n_taps, launch);
    args.type = spec->type;
    args.overlap_rows = use.rows;
    args.origin = origin_of(use, launch);
    args.oldest =
        std::min(args.s.oldest,
                 std::max(launch->intact, args.origin - (int64_t)use.rows * shape.T -
                                              (use.parts - 1) * (int64_t)use.part_taps));
    std::copy(plan->tw, plan->tw + 4, args.tw);
    const int64_t group = (int64_t)use.outputs * shape.groups;
    const int64_t blocks = (launch->end - args.origin + group - 1) / group;
    if (launch->end <= launch->begin || blocks > INT32_MAX)
        return cufilter_fail(CUFILTER_ERR_INVALID, "%s: cannot take items %lld to %lld",
                             __func__, (long long)launch->begin, (long long)launch->end);
    /* Ahead by half of what runs at once; where one block fills an SM it does harm. */
    if (shape.N < 16384 && blocks > 2 * plan->resident)
        args.prefetch = group * (plan->resident / 2);
    void* parameters[] = {&args};
    for (int p = use.parts - 1; p >= 0; --p) {
        set_part(&args, p, plan, launch);
        CUFILTER_TRY_CUDA(cudaLaunchKernel(use.kernel, dim3((unsigned)blocks),
                                           dim3(shape.threads), parameters, use.shared,
                                           launch->stream));
    }
    return CUFILTER_OK;
}

void fir_fused_free(struct fir_fused* plan)
{
    if (!plan)
        return;
    cudaFree(plan->memory);
    cudaFree(plan->sum);
    delete plan;
}

int fir_fused_describe(const struct fir_fused* plan, char* text, size_t size)
{
    const int N = plan->use.shape->N;
    return plan->use.parts > 1
               ? std::snprintf(text, size, "fused overlap-save, FFT %d, in %d parts", N,
                               plan->use.parts)
               : std::snprintf(text, size, "fused overlap-save, FFT %d", N);
}
