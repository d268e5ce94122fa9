// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the wavelet transform's GPU backend under a model of CUDA. What takes
// the place of the 1-D engine's kernels sorts items instead of filtering them, and what
// takes the 2-D engine's shuffles them: it is their way that counts here.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/core/gpu_stream.h"
#include "../cuda/dwt/dwt_1d.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

using gpu_host::block;
using gpu_host::memory;
using model_cuda::draw;
using model_cuda::reach;

// ---------------------------------------------------------------- in the kernels' place

namespace {

using bytes = std::vector<char>;

// Rows of items, `pitch` bytes from one to the next.
struct table {
    char* p;
    size_t rows, cols, pitch;
};

// to[r][j] = from[..][..] with all bits turned that `salt` and j have in common with 1.
void shuffle(const table& from, const table& to, size_t item, unsigned char salt)
{
    const size_t per_row = from.rows * from.cols / to.rows;
    for (size_t r = 0; r < to.rows; ++r)
        for (size_t j = 0; j < to.cols; ++j) {
            const size_t at = r * per_row + (j * 7 + salt) % per_row;
            const char* const x =
                from.p + at / from.cols * from.pitch + at % from.cols * item;
            for (size_t b = 0; b < item; ++b)
                to.p[r * to.pitch + j * item + b] = (char)(x[b] ^ salt ^ (char)j);
        }
}

void copy(const table& from, const table& to, size_t item)
{
    for (size_t r = 0; r < to.rows; ++r)
        std::memcpy(to.p + r * to.pitch, from.p + r * from.pitch, to.cols * item);
}

// A level of the simplest of wavelets: a are the even items and d the odd ones, and what
// is beyond x's n comes from its beginning.
void split(const char* x, size_t n, char* a, char* d, size_t n_bands, size_t item)
{
    for (size_t j = 0; j < n_bands; ++j) {
        std::memcpy(a + j * item, x + 2 * j % n * item, item);
        std::memcpy(d + j * item, x + (2 * j + 1) % n * item, item);
    }
}

void merge(const char* a, const char* d, char* x, size_t n, size_t item)
{
    for (size_t i = 0; i < n; ++i)
        std::memcpy(x + i * item, (i % 2 ? d : a) + i / 2 * item, item);
}

size_t span(const table& t, size_t item)
{
    return (t.rows - 1) * t.pitch + t.cols * item;
}

table data_table(const struct dwt_spec& s, const void* p, size_t pitch)
{
    return {(char*)const_cast<void*>(p), s.rows, s.cols, pitch * dwt_item_bytes(s.type)};
}

table coef_table(const struct dwt_spec& s, const void* p, size_t pitch)
{
    return {(char*)const_cast<void*>(p), s.rank == 2 ? 1 : s.rows, s.n_coefs,
            pitch * dwt_item_bytes(s.type)};
}

enum cufilter_status answer(cudaError_t error)
{
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "dwt", "launch");
}

enum cufilter_status launch(table from, table to, size_t item, unsigned char salt,
                            const void* workspace, cudaStream_t stream)
{
    const cudaError_t error = model_cuda::queue(stream, "dwt launch", [=] {
        table x = from, y = to;
        if (workspace)
            *reach((char*)const_cast<void*>(workspace)) = 1;
        x.p = reach(from.p, span(from, item));
        y.p = reach(to.p, span(to, item));
        if ((uintptr_t)from.p % item || (uintptr_t)to.p % item)
            model_cuda::fault("a launch's items are not aligned");
        shuffle(x, y, item, salt);
    });
    return answer(error);
}

// Fresh memory of the device is NaN.
template <class Real>
void expect_numbers(const Real* values, size_t n, const char* what)
{
    const Real* const v = reach(values, n);
    for (size_t i = 0; i < n; ++i)
        if (std::isnan(v[i]))
            return model_cuda::fault(std::string("a launch finds no ") + what);
}

void expect_taps(const struct dwt_spec& s, const void* taps)
{
    if (s.type == CUFILTER_DWT_F64)
        expect_numbers((const double*)taps, 2 * s.filter_length, "taps");
    else
        expect_numbers((const float*)taps, 2 * s.filter_length, "taps");
}

// There is one at least.
void expect_extensions(const struct dwt_spec& s, const void* table)
{
    if (s.type == CUFILTER_DWT_F64)
        expect_numbers(&((const struct dwt_extension_f64*)table)->scale, 3, "extensions");
    else
        expect_numbers(&((const struct dwt_extension_f32*)table)->scale, 3, "extensions");
}

gpu_host::prepared_kernels prepared_analysis, prepared_synthesis;

// Rows of a pass, where its launch finds them: n items from `at` on.
char* row_of(void* p, int64_t pitch, size_t r, int64_t at, int64_t n, size_t item)
{
    if ((uintptr_t)p % item)
        model_cuda::fault("a launch's items are not aligned");
    return reach((char*)p + (r * (size_t)pitch + (size_t)at) * item, (size_t)n * item);
}

void run_analysis(const struct dwt_pass& p, size_t item)
{
    for (size_t r = 0; r < (size_t)p.rows; ++r) {
        const char* const row = row_of(p.x, p.x_pitch, r, 0, p.n[0], item);
        bytes x(row, row + (size_t)p.n[0] * item);
        for (int l = 1; l <= p.levels; ++l) {
            bytes a((size_t)p.n[l] * item);
            char* const d = row_of(p.d, p.d_pitch, r, p.d_offset[l - 1], p.n[l], item);
            split(x.data(), (size_t)p.n[l - 1], a.data(), d, (size_t)p.n[l], item);
            x = a;
        }
        std::memcpy(row_of(p.a, p.a_pitch, r, 0, p.n[p.levels], item), x.data(),
                    x.size());
    }
}

void run_synthesis(const struct dwt_pass& p, size_t item)
{
    for (size_t r = 0; r < (size_t)p.rows; ++r) {
        const char* const row = row_of(p.a, p.a_pitch, r, 0, p.n[p.levels], item);
        bytes a(row, row + (size_t)p.n[p.levels] * item);
        for (int l = p.levels; l >= 1; --l) {
            bytes x((size_t)p.n[l - 1] * item);
            const char* const d =
                row_of(p.d, p.d_pitch, r, p.d_offset[l - 1], p.n[l], item);
            merge(a.data(), d, x.data(), (size_t)p.n[l - 1], item);
            a = x;
        }
        std::memcpy(row_of(p.x, p.x_pitch, r, 0, p.n[0], item), a.data(), a.size());
    }
}

} // namespace

// What the interface calls a dwt_engine, for images.
struct image_engine {
    const struct dwt_spec* spec;
    void* workspace;
};

static int image_engines = 0; // that there are

static const struct image_engine* of(const struct dwt_engine* engine)
{
    return (const struct image_engine*)engine;
}

extern "C" {

static enum cufilter_status make(struct dwt_engine** engine, const struct dwt_spec* spec)
{
    void* workspace;
    *engine = nullptr;
    CUFILTER_TRY(cufilter_gpu_alloc("model", &workspace, 100, "workspace"));
    *engine = (struct dwt_engine*)new image_engine{spec, workspace};
    ++image_engines;
    return CUFILTER_OK;
}

static void release(struct dwt_engine* engine)
{
    if (!engine)
        return;
    cudaFree(of(engine)->workspace);
    delete of(engine);
    --image_engines;
}

static enum cufilter_status forward(struct dwt_engine* e, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch, cudaStream_t stream)
{
    const struct dwt_spec& s = *of(e)->spec;
    return launch(data_table(s, data, pitch), coef_table(s, coefs, coef_pitch),
                  dwt_item_bytes(s.type), 3, of(e)->workspace, stream);
}

static enum cufilter_status inverse(struct dwt_engine* e, const void* coefs,
                                    size_t coef_pitch, void* data, size_t pitch,
                                    cudaStream_t stream)
{
    const struct dwt_spec& s = *of(e)->spec;
    return launch(coef_table(s, coefs, coef_pitch), data_table(s, data, pitch),
                  dwt_item_bytes(s.type), 5, of(e)->workspace, stream);
}

static int describe(const struct dwt_engine*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's engine");
}

extern const struct dwt_engine_type dwt_engine_2d = {make, release, forward, inverse,
                                                     describe};

enum cufilter_status dwt_analysis_prepare(const struct dwt_spec* spec)
{
    return prepared_analysis.add(spec, spec->device);
}

enum cufilter_status dwt_synthesis_prepare(const struct dwt_spec* spec)
{
    return prepared_synthesis.add(spec, spec->device);
}

enum cufilter_status dwt_analysis_launch(const struct dwt_spec* spec,
                                         const struct dwt_pass* pass, const void* taps,
                                         cudaStream_t stream)
{
    prepared_analysis.expect(spec);
    return answer(model_cuda::queue(stream, "analysis", [=, p = *pass] {
        expect_taps(*spec, taps);
        expect_extensions(*spec, p.extension_table);
        run_analysis(p, dwt_item_bytes(spec->type));
    }));
}

enum cufilter_status dwt_synthesis_launch(const struct dwt_spec* spec,
                                          const struct dwt_pass* pass, const void* taps,
                                          cudaStream_t stream)
{
    prepared_synthesis.expect(spec);
    return answer(model_cuda::queue(stream, "synthesis", [=, p = *pass] {
        expect_taps(*spec, taps);
        run_synthesis(p, dwt_item_bytes(spec->type));
    }));
}

enum cufilter_status dwt_copy_launch(const void* in, size_t in_pitch, void* out,
                                     size_t out_pitch, size_t cols, size_t rows,
                                     enum cufilter_dwt_type type, cudaStream_t stream)
{
    const size_t item = dwt_item_bytes(type);
    const table from = {(char*)const_cast<void*>(in), rows, cols, in_pitch * item};
    const table to = {(char*)out, rows, cols, out_pitch * item};
    return answer(model_cuda::queue(stream, "dwt copy", [=] {
        table x = from, y = to;
        x.p = reach(from.p, span(from, item));
        y.p = reach(to.p, span(to, item));
        copy(x, y, item);
    }));
}

enum cufilter_status dwt_threshold_launch(enum cufilter_dwt_threshold_kind, double,
                                          enum cufilter_dwt_type type, const void* in,
                                          void* out, size_t n, cudaStream_t stream)
{
    const size_t item = dwt_item_bytes(type);
    return launch({(char*)const_cast<void*>(in), 1, n, n * item},
                  {(char*)out, 1, n, n * item}, item, 0, nullptr, stream);
}

enum cufilter_status dwt_shrink_launch(const struct dwt_spec* spec,
                                       enum cufilter_dwt_threshold_kind, double,
                                       void* coefs, size_t pitch, double* thresholds,
                                       cudaStream_t stream)
{
    const table t = coef_table(*spec, coefs, pitch);
    const size_t item = dwt_item_bytes(spec->type);
    const cudaError_t error = model_cuda::queue(stream, "dwt_shrink_launch", [=] {
        *reach(thresholds, t.rows) = 1;
        char* const p = reach(t.p, span(t, item));
        for (size_t r = 0; r < t.rows; ++r)
            for (size_t b = 0; b < t.cols * item; ++b)
                p[r * t.pitch + b] ^= 0x33;
    });
    return answer(error);
}

// Nothing here runs on the CPU.
extern const struct dwt_backend dwt_backend_cpu = {};
extern const struct dwt_backend dwt_backend_stationary_cpu = {};

} // extern "C"

// ---------------------------------------------------------------- tests

namespace {

class dwt_subject : public gpu_host::subject
{
public:
    dwt_subject(int device, int rank, enum cufilter_dwt_type type, size_t rows,
                size_t cols, int levels);
    ~dwt_subject() override { cufilter_dwt_destroy(d_dwt); }

    bool create()
    {
        const bool done = must([&] { return cufilter_dwt_create(&d_dwt, &d_config); });
        if (d_dwt)
            d_n_coefs = cufilter_dwt_coef_count(d_dwt);
        return done;
    }
    void transform(bool inverse, memory from, memory to);
    void threshold(memory from, memory to);
    void shrink();
    void set_rows();
    void synchronize();
    void check();

private:
    // Nothing outlives a call.
    enum cufilter_status reset_handle() override { return CUFILTER_OK; }
    void reset_expected() override {}
    table draw_data(bytes* image, size_t pitch) const;
    table draw_coefs(bytes* image, size_t pitch) const;
    table draw_table(bytes* image, size_t rows, size_t cols, size_t pitch) const;
    struct cufilter_dwt_band details(int level) const;
    void expect_forward(const table& data, const table& coefs) const;
    void expect_inverse(const table& coefs, const table& data) const;

    struct cufilter_dwt_config d_config;
    cufilter_dwt* d_dwt = nullptr;
    size_t d_item, d_rows, d_n_coefs = 0;
};

dwt_subject::dwt_subject(int device, int rank, enum cufilter_dwt_type type, size_t rows,
                         size_t cols, int levels)
    : subject(device), d_item(dwt_item_bytes(type)), d_rows(rows)
{
    cufilter_dwt_defaults(&d_config, "db2", rank, rows, cols);
    d_config.device = device;
    d_config.type = type;
    d_config.levels = levels;
}

// Random items, and bytes of poison between the rows.
table dwt_subject::draw_table(bytes* image, size_t rows, size_t cols, size_t pitch) const
{
    image->assign(((rows - 1) * pitch + cols) * d_item, (char)0xff);
    for (size_t r = 0; r < rows; ++r)
        for (size_t b = 0; b < cols * d_item; ++b)
            (*image)[r * pitch * d_item + b] = (char)draw(256);
    return {image->data(), rows, cols, pitch * d_item};
}

table dwt_subject::draw_data(bytes* image, size_t pitch) const
{
    return draw_table(image, d_rows, d_config.cols, pitch);
}

table dwt_subject::draw_coefs(bytes* image, size_t pitch) const
{
    return draw_table(image, d_config.rank == 2 ? 1 : d_rows, d_n_coefs, pitch);
}

struct cufilter_dwt_band dwt_subject::details(int level) const
{
    struct cufilter_dwt_band band;
    runner::expect(
        cufilter_dwt_get_band(d_dwt, (size_t)(1 + d_config.levels - level), &band),
        CUFILTER_OK, "band");
    return band;
}

void dwt_subject::expect_forward(const table& data, const table& coefs) const
{
    if (d_config.rank == 2)
        return shuffle(data, coefs, d_item, 3);
    if (d_config.levels == 0)
        return copy(data, coefs, d_item);
    for (size_t r = 0; r < d_rows; ++r) {
        const char* const row = data.p + r * data.pitch;
        bytes x(row, row + data.cols * d_item);
        for (int l = 1; l <= d_config.levels; ++l) {
            const struct cufilter_dwt_band band = details(l);
            bytes a(band.cols * d_item);
            split(x.data(), x.size() / d_item, a.data(),
                  coefs.p + r * coefs.pitch + band.offset * d_item, band.cols, d_item);
            x = a;
        }
        std::memcpy(coefs.p + r * coefs.pitch, x.data(), x.size());
    }
}

void dwt_subject::expect_inverse(const table& coefs, const table& data) const
{
    if (d_config.rank == 2)
        return shuffle(coefs, data, d_item, 5);
    if (d_config.levels == 0)
        return copy(coefs, data, d_item);
    for (size_t r = 0; r < d_rows; ++r) {
        const char* const row = coefs.p + r * coefs.pitch;
        bytes a(row, row + details(d_config.levels).cols * d_item);
        for (int l = d_config.levels; l >= 1; --l) {
            bytes x((l > 1 ? details(l - 1).cols : data.cols) * d_item);
            merge(a.data(), row + details(l).offset * d_item, x.data(), x.size() / d_item,
                  d_item);
            a = x;
        }
        std::memcpy(data.p + r * data.pitch, a.data(), a.size());
    }
}

void dwt_subject::transform(bool inverse, memory from, memory to)
{
    const size_t pitch = d_config.cols + draw(2) * draw(5);
    const size_t coef_pitch = d_config.rank == 2 ? 0 : d_n_coefs + draw(2) * draw(5);
    const size_t used = coef_pitch ? coef_pitch : d_n_coefs;
    // Host memory needs no alignment but that of a real part.
    const size_t part = d_config.type == CUFILTER_DWT_F64 ? 8 : 4;
    bytes x, y;
    const table source = inverse ? draw_coefs(&x, used) : draw_data(&x, pitch);
    const table target = inverse ? draw_data(&y, pitch) : draw_coefs(&y, used);
    block& in =
        make(from, x.size(), from == memory::device ? draw(3) * d_item : draw(3) * part);
    block& out =
        make(to, y.size(), to == memory::device ? draw(3) * d_item : draw(3) * part);
    bytes fresh(y.size(), (char)0xff);
    const bool done = must([&] {
        in.set(x.data(), x.size());
        out.set(fresh.data(), fresh.size());
        return inverse ? cufilter_dwt_inverse(d_dwt, in.p(), coef_pitch, out.p(), pitch)
                       : cufilter_dwt_forward(d_dwt, in.p(), pitch, out.p(), coef_pitch);
    });
    take_costs();
    if (done)
        inverse ? expect_inverse(source, target) : expect_forward(source, target);
    end_call({&in, &out}, {{&out, 0, y}}, done);
}

void dwt_subject::threshold(memory from, memory to)
{
    const size_t n = 1 + draw(900), size = n * d_item;
    bytes x, y;
    const table source = draw_table(&x, 1, n, n), target = draw_table(&y, 1, n, n);
    block &in = make(from, size, draw(3) * d_item), &out = make(to, size);
    const bool done = must([&] {
        in.set(x.data(), size);
        return cufilter_dwt_apply_threshold(d_dwt, CUFILTER_DWT_SOFT, 1, in.p(), out.p(),
                                            n);
    });
    take_costs();
    shuffle(source, target, d_item, 0);
    end_call({&in, &out}, {{&out, 0, y}}, done);
}

void dwt_subject::shrink()
{
    bytes x;
    const table t = draw_coefs(&x, d_n_coefs);
    block& coefs = make(memory::device, x.size());
    const bool done = must([&] {
        coefs.set(x.data(), x.size());
        return cufilter_dwt_shrink(d_dwt, CUFILTER_DWT_SOFT, 1, coefs.p(), 0);
    });
    take_costs();
    for (size_t b = 0; b < t.rows * t.pitch && d_config.levels; ++b)
        x[b] ^= 0x33;
    end_call({&coefs}, {{&coefs, 0, x}}, done);
}

void dwt_subject::set_rows()
{
    if (d_config.rank == 2)
        return;
    /* Queued launches look at the rows when they run here. */
    synchronize();
    const size_t rows = 1 + draw(d_config.rows);
    runner::expect(cufilter_dwt_set_rows(d_dwt, rows), CUFILTER_OK, "set_rows");
    d_rows = rows;
}

void dwt_subject::synchronize()
{
    const bool done = must([&] { return cufilter_dwt_synchronize(d_dwt); });
    take_costs();
    end_queue(done);
}

void dwt_subject::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    cufilter_dwt_destroy(d_dwt);
    d_dwt = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

void step(dwt_subject& p)
{
    const memory from = gpu_host::draw_memory();
    const memory to = draw(2) ? from : gpu_host::draw_memory();
    switch (draw(10)) {
    case 0:
        return p.set_rows();
    case 1:
        return p.synchronize();
    case 2:
        return p.shrink();
    case 3:
        return p.threshold(from, to);
    case 4: {
        const model_cuda::aside mine;
        cudaSetDevice((int)draw(2));
        return;
    }
    default:
        return p.transform(draw(2), from, to);
    }
}

enum cufilter_dwt_type draw_type()
{
    const enum cufilter_dwt_type types[] = {CUFILTER_DWT_F32, CUFILTER_DWT_F64,
                                            CUFILTER_DWT_C64};
    return types[draw(3)];
}

void any_calls(uint64_t)
{
    dwt_subject p((int)draw(2), 1 + (int)draw(2), draw_type(), 1 + draw(6), 8 + draw(300),
                  (int)draw(3));
    p.create();
    for (size_t k = 4 + draw(12); k > 0; --k)
        step(p);
    p.check();
}

// Too much for the bounce buffers.
void long_calls(uint64_t)
{
    dwt_subject p((int)draw(2), 1, draw_type(), 1 + draw(3), 280000, 2 + (int)draw(8));
    p.create();
    for (size_t k = 0; k < 3; ++k)
        p.transform(draw(2), gpu_host::draw_memory(), gpu_host::draw_memory());
    p.check();
}

void some_calls(memory from, memory to, int rank)
{
    dwt_subject p((int)draw(2), rank, CUFILTER_DWT_C64, 3, 40, 2);
    if (!p.create())
        return;
    p.transform(false, from, to);
    p.transform(true, from, to);
    p.threshold(from, to);
    p.shrink();
    p.set_rows();
    p.transform(true, from, to);
    p.check();
}

class gpu_host_dwt : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(gpu_host_dwt);
    CPPUNIT_TEST(calls_of_all_kinds);
    CPPUNIT_TEST(calls_fail);
    CPPUNIT_TEST(the_device_is_lost);
    CPPUNIT_TEST_SUITE_END();

public:
    void calls_of_all_kinds()
    {
        gpu_host::for_seeds(1, 200, any_calls);
        gpu_host::for_seeds(1001, 6, long_calls);
    }
    void calls_fail()
    {
        gpu_host::for_memories([](memory from, memory to) {
            for (int rank : {1, 2})
                gpu_host::for_failures(2, false, [=] { some_calls(from, to, rank); });
        });
        CPPUNIT_ASSERT_EQUAL(0, image_engines);
    }
    void the_device_is_lost()
    {
        gpu_host::for_memories([](memory from, memory to) {
            for (int rank : {1, 2})
                gpu_host::for_losses(3, [=] { some_calls(from, to, rank); });
        });
        // What the host had of them is not lost.
        CPPUNIT_ASSERT_EQUAL(0, image_engines);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_dwt);

} // namespace
