// SPDX-License-Identifier: GPL-3.0-or-later
// The stationary transform's engine and the way of its items under a model of CUDA: its
// passes, with functions in the place of the kernels that filter as these do.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/dwt/dwt_stationary_gpu.h"
#include <cufilter/dwt_stationary.h>

#include <cmath>
#include <cstring>
#include <vector>

using gpu_host::block;
using gpu_host::memory;
using model_cuda::draw;
using model_cuda::reach;

// ---------------------------------------------------------------- in the kernels' place

namespace {

// A level of a row of n items, `parts` reals each; out_hi may be NULL, and so may hi with
// its input. Taps are those of a window that begins `before` steps ahead of its output.
template <typename R>
void filter(const std::vector<R>& x, const std::vector<R>& x_hi, const R* taps,
            size_t length, size_t before, size_t n, size_t step, std::vector<R>* out,
            std::vector<R>* out_hi)
{
    const size_t parts = x.size() / n, lead = before * step % n;
    out->assign(x.size(), 0);
    if (out_hi)
        out_hi->assign(x.size(), 0);
    for (size_t o = 0; o < n; ++o)
        for (size_t k = 0; k < length; ++k)
            for (size_t part = 0; part < parts; ++part) {
                const size_t from = (o + n - lead + k * step) % n * parts + part;
                const size_t to = o * parts + part;
                (*out)[to] += taps[2 * k] * x[from];
                if (out_hi)
                    (*out_hi)[to] += taps[2 * k + 1] * x[from];
                else
                    (*out)[to] += taps[2 * k + 1] * x_hi[from];
            }
}

// Rows of items on the device, or from the host.
template <typename R>
class rows_of
{
public:
    rows_of(void* p, int64_t pitch, const struct dwt_stationary_pass& pass, size_t parts)
        : d_pitch((size_t)pitch * parts), d_cols((size_t)pass.n * parts)
    {
        if ((uintptr_t)p % (parts * sizeof(R)))
            model_cuda::fault("a launch's items are not aligned");
        if (pass.way != DWT_STATIONARY_TILES && pass.vector > 1 &&
            ((uintptr_t)p % 16 || d_pitch * sizeof(R) % 16))
            model_cuda::fault("a launch's vectors are not aligned");
        d_p = reach((R*)p, ((size_t)pass.rows - 1) * d_pitch + d_cols);
    }
    std::vector<R> get(size_t row) const
    {
        return std::vector<R>(d_p + row * d_pitch, d_p + row * d_pitch + d_cols);
    }
    void set(size_t row, const std::vector<R>& x)
    {
        std::memcpy(d_p + row * d_pitch, x.data(), d_cols * sizeof(R));
    }

private:
    R* d_p;
    size_t d_pitch, d_cols;
};

template <typename R>
void forward_pass(const struct dwt_stationary_pass& p, const R* taps, size_t length,
                  size_t parts)
{
    const rows_of<R> in(p.x, p.x_pitch, p, parts);
    for (size_t r = 0; r < (size_t)p.rows; ++r) {
        std::vector<R> x = in.get(r), a, d;
        for (int l = 0; l < p.levels; ++l, x = a) {
            filter(x, x, taps, length, length / 2 - 1, (size_t)p.n, (size_t)p.step << l,
                   &a, &d);
            rows_of<R>(p.d[l], p.d_pitch, p, parts).set(r, d);
            if (p.a[l])
                rows_of<R>(p.a[l], p.a_pitch, p, parts).set(r, a);
        }
    }
}

template <typename R>
void inverse_pass(const struct dwt_stationary_pass& p, const R* taps, size_t length,
                  size_t parts)
{
    rows_of<R> out(p.x, p.x_pitch, p, parts);
    for (size_t r = 0; r < (size_t)p.rows; ++r) {
        std::vector<R> a = rows_of<R>(p.a[p.levels - 1], p.a_pitch, p, parts).get(r), y;
        for (int l = p.levels - 1; l >= 0; --l, a = y)
            filter(a, rows_of<R>(p.d[l], p.d_pitch, p, parts).get(r), taps, length,
                   length / 2, (size_t)p.n, (size_t)p.step << l, &y,
                   (std::vector<R>*)nullptr);
        out.set(r, y);
    }
}

gpu_host::prepared_kernels prepared[2]; // forward, inverse

enum cufilter_status launch(const struct dwt_spec* spec,
                            const struct dwt_stationary_pass* pass, const void* taps,
                            bool inverse, cudaStream_t stream)
{
    const size_t length = spec->filter_length;
    const size_t parts = spec->type == CUFILTER_DWT_C64 ? 2 : 1;
    const bool wide = spec->type == CUFILTER_DWT_F64;
    const struct dwt_stationary_pass p = *pass;
    prepared[inverse].expect(spec);
    const cudaError_t error = model_cuda::queue(stream, "stationary launch", [=] {
        if (wide)
            (inverse ? inverse_pass<double>
                     : forward_pass<double>)(p,
                                             reach((double*)const_cast<void*>(taps),
                                                   2 * length),
                                             length, parts);
        else
            (inverse ? inverse_pass<float>
                     : forward_pass<float>)(p,
                                            reach((float*)const_cast<void*>(taps),
                                                  2 * length),
                                            length, parts);
    });
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "swt", "launch");
}

} // namespace

extern "C" {

enum cufilter_status dwt_stationary_forward_prepare(const struct dwt_spec* spec)
{
    return prepared[false].add(spec, spec->device);
}

enum cufilter_status dwt_stationary_inverse_prepare(const struct dwt_spec* spec)
{
    return prepared[true].add(spec, spec->device);
}

enum cufilter_status dwt_stationary_forward_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream)
{
    return launch(spec, pass, taps, false, stream);
}

enum cufilter_status dwt_stationary_inverse_launch(const struct dwt_spec* spec,
                                                   const struct dwt_stationary_pass* pass,
                                                   const void* taps, cudaStream_t stream)
{
    return launch(spec, pass, taps, true, stream);
}

} // extern "C"

// ---------------------------------------------------------------- tests

namespace {

using bytes = std::vector<char>;

struct shape {
    const char* wavelet;
    size_t rows, cols;
    int levels, start_level;
    bool keep;
};

// A transform of items of R, `parts` of them each.
template <typename R>
class swt_subject : public gpu_host::subject
{
public:
    swt_subject(int device, size_t parts, const shape& s);
    ~swt_subject() override { cufilter_swt_destroy(d_swt); }

    bool create();
    void transform(bool inverse, memory from, memory to);
    void synchronize();
    void check();

private:
    // Nothing outlives a call.
    enum cufilter_status reset_handle() override { return CUFILTER_OK; }
    void reset_expected() override {}

    size_t bands() const
    {
        return d_shape.keep && d_shape.levels ? 2 * (size_t)d_shape.levels
                                              : (size_t)d_shape.levels + 1;
    }
    size_t detail(int level) const
    {
        const size_t above = (size_t)(d_shape.levels - level);
        return (d_shape.keep ? 2 * above + 1 : above + 1) * d_shape.cols * d_parts;
    }
    size_t step(int level) const
    {
        return ((size_t)1 << (d_shape.start_level + level - 1)) % d_shape.cols;
    }
    bytes draw_rows(size_t cols, size_t pitch) const;
    std::vector<R> expected_row(bool inverse, const R* from) const;

    shape d_shape;
    size_t d_parts;
    struct cufilter_swt_config d_config;
    cufilter_swt* d_swt = nullptr;
    std::vector<R> d_taps[2];
};

template <typename R>
swt_subject<R>::swt_subject(int device, size_t parts, const shape& s)
    : subject(device), d_shape(s), d_parts(parts)
{
    cufilter_swt_defaults(&d_config, s.wavelet, s.rows, s.cols, s.levels);
    d_config.device = device;
    d_config.type = parts == 2       ? CUFILTER_DWT_C64
                    : sizeof(R) == 8 ? CUFILTER_DWT_F64
                                     : CUFILTER_DWT_F32;
    d_config.start_level = s.start_level;
    d_config.keep = s.keep;
    double f[4][128];
    size_t n;
    runner::expect(cufilter_dwt_wavelet(s.wavelet, &n, f[0], f[1], f[2], f[3], 128),
                   CUFILTER_OK, "wavelet");
    for (size_t k = 0; k < 2 * n; ++k) {
        d_taps[0].push_back((R)f[k % 2][n - 1 - k / 2]);
        d_taps[1].push_back((R)(f[2 + k % 2][n - 1 - k / 2] / 2));
    }
}

template <typename R>
bool swt_subject<R>::create()
{
    return must([&] { return cufilter_swt_create(&d_swt, &d_config); });
}

// Random items, and bytes of poison between the rows.
template <typename R>
bytes swt_subject<R>::draw_rows(size_t cols, size_t pitch) const
{
    const size_t item = d_parts * sizeof(R);
    bytes image(((d_shape.rows - 1) * pitch + cols) * item, (char)0xff);
    for (size_t r = 0; r < d_shape.rows; ++r)
        for (size_t i = 0; i < cols * d_parts; ++i) {
            const R v = (R)gpu_host::noise();
            std::memcpy(&image[r * pitch * item + i * sizeof v], &v, sizeof v);
        }
    return image;
}

template <typename R>
std::vector<R> swt_subject<R>::expected_row(bool inverse, const R* from) const
{
    const size_t n = d_shape.cols, span = n * d_parts, length = d_taps[0].size() / 2;
    std::vector<R> x(from, from + span), y, d;
    std::vector<R> out(inverse ? span : bands() * span);
    for (int i = 1; i <= d_shape.levels; ++i, x = y) {
        const int l = inverse ? d_shape.levels + 1 - i : i;
        if (inverse) {
            d.assign(from + detail(l), from + detail(l) + span);
            filter(x, d, d_taps[1].data(), length, length / 2, n, step(l), &y,
                   (std::vector<R>*)nullptr);
            continue;
        }
        filter(x, x, d_taps[0].data(), length, length / 2 - 1, n, step(l), &y, &d);
        std::copy(d.begin(), d.end(), out.begin() + (ptrdiff_t)detail(l));
        if (d_shape.keep && l < d_shape.levels)
            std::copy(y.begin(), y.end(), out.begin() + (ptrdiff_t)(detail(l) - span));
    }
    std::copy(x.begin(), x.end(), out.begin());
    return out;
}

template <typename R>
void swt_subject<R>::transform(bool inverse, memory from, memory to)
{
    const size_t item = d_parts * sizeof(R), n = d_shape.cols;
    const size_t pitches[] = {n + draw(2) * draw(5), bands() * n + draw(2) * draw(5)};
    const size_t cols[] = {n, bands() * n};
    const size_t in_pitch = pitches[inverse], out_pitch = pitches[!inverse];
    const bytes x = draw_rows(cols[inverse], in_pitch);
    bytes y(((d_shape.rows - 1) * out_pitch + cols[!inverse]) * item, (char)0xff);
    const bytes fresh = y;
    // Host memory needs no alignment but that of a real part.
    const auto offset = [&](memory kind) {
        return draw(5) * (kind == memory::device ? item : sizeof(R));
    };
    block &in = make(from, x.size(), offset(from)), &out = make(to, y.size(), offset(to));
    const bool done = must([&] {
        in.set(x.data(), x.size());
        out.set(fresh.data(), fresh.size());
        return inverse
                   ? cufilter_swt_inverse(d_swt, in.p(), in_pitch, out.p(), out_pitch)
                   : cufilter_swt_forward(d_swt, in.p(), in_pitch, out.p(), out_pitch);
    });
    take_costs();
    for (size_t r = 0; r < d_shape.rows; ++r) {
        std::vector<R> row(cols[inverse] * d_parts);
        std::memcpy(row.data(), &x[r * in_pitch * item], row.size() * sizeof(R));
        const std::vector<R> wanted = expected_row(inverse, row.data());
        std::memcpy(&y[r * out_pitch * item], wanted.data(), wanted.size() * sizeof(R));
    }
    end_call({&in, &out}, {{&out, 0, y}}, done);
}

template <typename R>
void swt_subject<R>::synchronize()
{
    const bool done = must([&] { return cufilter_swt_synchronize(d_swt); });
    take_costs();
    end_queue(done);
}

template <typename R>
void swt_subject<R>::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    cufilter_swt_destroy(d_swt);
    d_swt = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

shape draw_shape()
{
    static const char* const wavelets[] = {"haar", "db2", "bior3.3", "db4", "sym7"};
    const size_t rows = 1 + draw(5), coarse = draw(2);
    const size_t cols = coarse ? 64 << draw(5) : 1 + draw(700);
    return {wavelets[draw(5)],        rows,        cols, (int)draw(cols > 600 ? 7 : 12),
            (int)(draw(2) * draw(6)), draw(2) != 0};
}

template <typename R>
void any_calls_of(size_t parts)
{
    swt_subject<R> s((int)draw(2), parts, draw_shape());
    s.create();
    for (size_t k = 2 + draw(5); k > 0; --k) {
        const memory from = gpu_host::draw_memory();
        const memory to = draw(2) ? from : gpu_host::draw_memory();
        if (draw(6))
            s.transform(draw(2), from, to);
        else
            s.synchronize();
    }
    s.check();
}

void any_calls(uint64_t)
{
    switch (draw(3)) {
    case 0:
        return any_calls_of<double>(1);
    case 1:
        return any_calls_of<float>(1);
    default:
        return any_calls_of<float>(2);
    }
}

void some_calls(memory from, memory to)
{
    swt_subject<float> s((int)draw(2), 2, {"db2", 2, 160, 9, 0, draw(2) != 0});
    if (!s.create())
        return;
    s.transform(false, from, to);
    s.transform(true, from, to);
    s.check();
}

class gpu_host_swt : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(gpu_host_swt);
    CPPUNIT_TEST(calls_of_all_kinds);
    CPPUNIT_TEST(calls_fail);
    CPPUNIT_TEST(the_device_is_lost);
    CPPUNIT_TEST_SUITE_END();

public:
    void calls_of_all_kinds() { gpu_host::for_seeds(1, 150, any_calls); }
    void calls_fail()
    {
        gpu_host::for_memories([](memory from, memory to) {
            gpu_host::for_failures(2, false, [=] { some_calls(from, to); });
        });
    }
    void the_device_is_lost()
    {
        gpu_host::for_memories([](memory from, memory to) {
            gpu_host::for_losses(3, [=] { some_calls(from, to); });
        });
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_swt);

} // namespace
