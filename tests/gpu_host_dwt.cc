// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the wavelet transform's GPU backend under a model of CUDA. What takes
// the engines' place shuffles items instead of filtering them: it is their way that
// counts here.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/core/gpu_stream.h"
#include "../cuda/dwt/dwt_gpu.h"

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
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "dwt", "launch");
}

} // namespace

struct dwt_engine {
    const struct dwt_spec* spec;
    void* workspace;
};

extern "C" {

static enum cufilter_status make(struct dwt_engine** engine, const struct dwt_spec* spec)
{
    void* workspace;
    *engine = nullptr;
    CUFILTER_TRY(cufilter_gpu_alloc("model", &workspace, 100, "workspace"));
    *engine = new dwt_engine{spec, workspace};
    return CUFILTER_OK;
}

static void release(struct dwt_engine* engine)
{
    if (engine)
        cudaFree(engine->workspace);
    delete engine;
}

static enum cufilter_status forward(struct dwt_engine* e, const void* data, size_t pitch,
                                    void* coefs, size_t coef_pitch, cudaStream_t stream)
{
    const struct dwt_spec& s = *e->spec;
    return launch(data_table(s, data, pitch), coef_table(s, coefs, coef_pitch),
                  dwt_item_bytes(s.type), 3, e->workspace, stream);
}

static enum cufilter_status inverse(struct dwt_engine* e, const void* coefs,
                                    size_t coef_pitch, void* data, size_t pitch,
                                    cudaStream_t stream)
{
    const struct dwt_spec& s = *e->spec;
    table to = data_table(s, data, pitch);
    return launch(coef_table(s, coefs, coef_pitch), to, dwt_item_bytes(s.type), 5,
                  e->workspace, stream);
}

static int describe(const struct dwt_engine*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's engine");
}

extern const struct dwt_engine_type dwt_engine_1d = {make, release, forward, inverse,
                                                     describe};
extern const struct dwt_engine_type dwt_engine_2d = {make, release, forward, inverse,
                                                     describe};

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
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "dwt", "launch");
}

// Nothing here runs on the CPU.
extern const struct dwt_backend dwt_backend_cpu = {};

} // extern "C"

// ---------------------------------------------------------------- tests

namespace {

class dwt_subject : public gpu_host::subject
{
public:
    dwt_subject(int device, int rank, enum cufilter_dwt_type type, size_t rows,
                size_t cols);
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

    struct cufilter_dwt_config d_config;
    cufilter_dwt* d_dwt = nullptr;
    size_t d_item, d_rows, d_n_coefs = 0;
};

dwt_subject::dwt_subject(int device, int rank, enum cufilter_dwt_type type, size_t rows,
                         size_t cols)
    : subject(device), d_item(dwt_item_bytes(type)), d_rows(rows)
{
    cufilter_dwt_defaults(&d_config, "db2", rank, rows, cols);
    d_config.device = device;
    d_config.type = type;
    d_config.levels = 2;
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
    shuffle(source, target, d_item, inverse ? 5 : 3);
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
    for (size_t b = 0; b < t.rows * t.pitch; ++b)
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
    dwt_subject p((int)draw(2), 1 + (int)draw(2), draw_type(), 1 + draw(6),
                  8 + draw(300));
    p.create();
    for (size_t k = 4 + draw(12); k > 0; --k)
        step(p);
    p.check();
}

// Too much for the bounce buffers.
void long_calls(uint64_t)
{
    dwt_subject p((int)draw(2), 1, draw_type(), 1 + draw(3), 280000);
    p.create();
    for (size_t k = 0; k < 3; ++k)
        p.transform(draw(2), gpu_host::draw_memory(), gpu_host::draw_memory());
    p.check();
}

void some_calls(memory from, memory to, int rank)
{
    dwt_subject p((int)draw(2), rank, CUFILTER_DWT_C64, 3, 40);
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
    }
    void the_device_is_lost()
    {
        gpu_host::for_memories([](memory from, memory to) {
            for (int rank : {1, 2})
                gpu_host::for_losses(3, [=] { some_calls(from, to, rank); });
        });
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_dwt);

} // namespace
