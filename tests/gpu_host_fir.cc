// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the FIR filter's GPU backend under a model of CUDA: plain sums take
// the place of the kernels, with their rules checked.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/core/gpu_stream.h"
#include "../cuda/fir/fir_internal.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using gpu_host::block;
using gpu_host::memory;
using gpu_host::noise;
using model_cuda::draw;
using model_cuda::reach;
using runner::require;

// ---------------------------------------------------------------- in the kernels' place

namespace {

using complex = std::complex<double>;
using bytes = std::vector<char>;

complex load(const struct fir_spec& s, const char* p)
{
    float f[2] = {0, 0};
    int16_t i;
    if (s.in_size == 2) {
        std::memcpy(&i, p, 2);
        return i;
    }
    std::memcpy(f, p, s.in_size);
    return {f[0], f[1]};
}

void store(const struct fir_spec& s, char* p, complex v)
{
    const float f[2] = {(float)v.real(), (float)v.imag()};
    const auto i = (int16_t)std::max(-32768.0, std::min(32767.0, v.real()));
    std::memcpy(p, s.out_size == 2 ? (const void*)&i : f, s.out_size);
}

// sum_k h[k] x[at - k]; `item` finds x.
template <class F>
complex output(const std::vector<complex>& h, int64_t at, F item)
{
    complex sum = 0;
    for (size_t k = 0; k < h.size(); ++k)
        sum += h[k] * item(at - (int64_t)k);
    return sum;
}

std::vector<complex> taps_of(const struct fir_design& design)
{
    std::vector<complex> h;
    for (size_t k = 0; k < design.n_taps; ++k)
        h.emplace_back(design.h[2 * k], design.h[2 * k + 1]);
    return h;
}

// Tables on the device, and scratch memory that follows the longest launch.
struct method {
    struct fir_spec spec;
    size_t n_taps;
    complex* table = nullptr;
    struct cufilter_gpu_buffer scratch = {};
};

template <class M>
enum cufilter_status make(M** out, const struct fir_spec* spec,
                          const struct fir_design* design)
{
    const std::vector<complex> h = taps_of(*design);
    void* table;
    *out = nullptr;
    CUFILTER_TRY(
        cufilter_gpu_alloc("model", &table, h.size() * sizeof h[0], "model's tables"));
    model_cuda::poke(table, h.data(), h.size() * sizeof h[0]);
    *out = new M;
    (*out)->spec = *spec;
    (*out)->n_taps = h.size();
    (*out)->table = (complex*)table;
    return CUFILTER_OK;
}

template <class M>
void release(M* m)
{
    if (m) {
        cudaFree(m->table);
        cufilter_gpu_free_buffer(&m->scratch);
    }
    delete m;
}

void signal(const struct fir_launch& l)
{
    if (*reach(l.blocks_done) != 0)
        model_cuda::fault("blocks_done is not 0 before a launch");
    if (!l.flag)
        return;
    uint32_t* const flags = (uint32_t*)reach(l.flag, FIR_FLAGS);
    for (int i = 0; i < FIR_FLAGS; ++i)
        __atomic_store_n(flags + i, l.ticket, __ATOMIC_RELEASE);
}

void append(const struct fir_spec& s, const struct fir_launch& l)
{
    const int64_t begin = std::max<int64_t>(l.begin, 0);
    if (l.end <= begin)
        return;
    const size_t size = s.in_size;
    char* const ring = reach((char*)l.ring, ((size_t)l.ring_mask + 1) * size);
    const char* const x = reach((const char*)l.x, (size_t)l.end * size);
    for (int64_t n = begin; n < l.end; ++n)
        std::memcpy(ring + ((l.ring_pos + (uint32_t)n) & l.ring_mask) * size,
                    x + (size_t)n * size, size);
}

void sums(const method& m, const struct fir_launch& l)
{
    const struct fir_spec& s = m.spec;
    const auto D = (int64_t)s.decimation;
    const complex* const table = reach((const complex*)m.table, m.n_taps);
    const std::vector<complex> h(table, table + m.n_taps);
    const char* const ring =
        reach((const char*)l.ring, ((size_t)l.ring_mask + 1) * s.in_size);
    const char* const x =
        l.end > 0 ? reach((const char*)l.x, (size_t)l.end * s.in_size) : nullptr;
    const auto item = [&](int64_t n) {
        return load(s, n >= 0 ? x + (size_t)n * s.in_size
                              : ring + ((l.ring_pos + (uint32_t)n) & l.ring_mask) *
                                           s.in_size);
    };
    const int64_t behind = std::max<int64_t>(l.begin - l.first, 0);
    const int64_t from = (behind + D - 1) / D, to = (l.end - l.first + D - 1) / D;
    if (from >= to)
        return;
    char* const y =
        reach((char*)l.y + (size_t)from * s.out_size, (size_t)(to - from) * s.out_size);
    for (int64_t i = from; i < to; ++i)
        store(s, y + (size_t)(i - from) * s.out_size, output(h, l.first + i * D, item));
}

// A launch's blocks append and read in any order.
void run(const method& m, const struct fir_launch& l, bool append_first, size_t scratch)
{
    if (l.begin <= -(int64_t)m.spec.decimation || l.end <= l.begin || l.first > 0)
        model_cuda::fault("a launch's range is not what its rules ask for");
    if (scratch)
        std::memset(reach((char*)m.scratch.device, scratch), 0, scratch);
    if (l.append && append_first)
        append(m.spec, l);
    sums(m, l);
    if (l.append && !append_first)
        append(m.spec, l);
    signal(l);
}

enum cufilter_status launch(const method& m, const struct fir_launch* launch,
                            size_t scratch, const char* name)
{
    const struct fir_launch l = *launch;
    const bool append_first = draw(2);
    const cudaError_t error =
        model_cuda::queue(l.stream, name, [=] { run(m, l, append_first, scratch); });
    return error == cudaSuccess ? CUFILTER_OK : cufilter_cuda_fail(error, name, "launch");
}

enum cufilter_status grow(method* m, size_t n, cudaStream_t stream)
{
    if (n <= m->scratch.bytes)
        return CUFILTER_OK;
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
    return cufilter_gpu_grow_device("model", &m->scratch, n, "model's scratch");
}

unsigned rule_seed = 0; // which methods the rule chooses

} // namespace

struct fir_direct : method {
};
struct fir_fused : method {
    cudaStream_t stream = nullptr; // of the last launch
};
struct fir_six_step : method {
};

extern "C" {

bool fir_direct_supports(const struct fir_spec*, size_t)
{
    return true;
}

enum cufilter_status fir_direct_make(struct fir_direct** plan,
                                     const struct fir_spec* spec,
                                     const struct fir_design* design)
{
    return make(plan, spec, design);
}

enum cufilter_status fir_direct_launch(const struct fir_direct* plan,
                                       const struct fir_launch* l)
{
    return launch(*plan, l, 0, "fir_direct_launch");
}

void fir_direct_free(struct fir_direct* plan)
{
    release(plan);
}

int fir_direct_describe(const struct fir_direct*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's direct form");
}

bool fir_fused_supports(const struct fir_spec*, size_t)
{
    return true;
}

enum cufilter_status fir_fused_make(struct fir_fused** plan, const struct fir_spec* spec,
                                    const struct fir_design* design)
{
    return make(plan, spec, design);
}

// cudaFree() waits, in CUDA, for what still uses the memory.
enum cufilter_status fir_fused_prepare(struct fir_fused* plan, size_t n)
{
    if (n <= plan->scratch.bytes)
        return CUFILTER_OK;
    if (plan->stream)
        CUFILTER_TRY_CUDA(cudaStreamSynchronize(plan->stream));
    return cufilter_gpu_grow_device("model", &plan->scratch, n, "model's sums");
}

enum cufilter_status fir_fused_launch(const struct fir_fused* plan,
                                      const struct fir_launch* l)
{
    const auto D = (int64_t)plan->spec.decimation;
    const auto outputs = (size_t)((l->end - l->first + D - 1) / D);
    const_cast<struct fir_fused*>(plan)->stream = l->stream;
    return launch(*plan, l, l->y_here ? 0 : outputs, "fir_fused_launch");
}

void fir_fused_free(struct fir_fused* plan)
{
    release(plan);
}

int fir_fused_describe(const struct fir_fused*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's fused form");
}

enum cufilter_status fir_six_step_make(struct fir_six_step** plan,
                                       const struct fir_spec* spec,
                                       const struct fir_design* design)
{
    return make(plan, spec, design);
}

enum cufilter_status fir_six_step_prepare(struct fir_six_step* plan, size_t n,
                                          cudaStream_t stream)
{
    return grow(plan, n, stream);
}

enum cufilter_status fir_six_step_launch(struct fir_six_step* plan,
                                         const struct fir_launch* l)
{
    const auto n = (size_t)(l->end - l->begin);
    CUFILTER_TRY(grow(plan, n, l->stream));
    return launch(*plan, l, n, "fir_six_step_launch");
}

void fir_six_step_free(struct fir_six_step* plan)
{
    release(plan);
}

int fir_six_step_describe(const struct fir_six_step*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's six steps");
}

enum cufilter_status fir_append_launch(const struct fir_spec* spec,
                                       const struct fir_launch* launch)
{
    const struct fir_launch l = *launch;
    const struct fir_spec s = *spec;
    const cudaError_t error =
        model_cuda::queue(l.stream, "fir_append_launch", [=] { append(s, l); });
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "append", "launch");
}

enum cufilter_status fir_notify_launch(const struct fir_launch* launch)
{
    const struct fir_launch l = *launch;
    const cudaError_t error =
        model_cuda::queue(l.stream, "fir_notify_launch", [=] { signal(l); });
    return error == cudaSuccess ? CUFILTER_OK
                                : cufilter_cuda_fail(error, "notify", "launch");
}

enum cufilter_fir_method fir_rule(const struct fir_spec*, size_t, size_t n_in)
{
    const enum cufilter_fir_method all[] = {CUFILTER_FIR_DIRECT, CUFILTER_FIR_FUSED,
                                            CUFILTER_FIR_SIX_STEP};
    size_t log2 = 0;
    for (; n_in > 1; n_in /= 2)
        ++log2;
    return all[(rule_seed + log2 / (1 + rule_seed % 3)) % 3];
}

// Nothing here runs on the CPU.
const struct fir_backend fir_backend_cpu = {};

} // extern "C"

// ---------------------------------------------------------------- tests

namespace {

class fir_subject : public gpu_host::subject
{
public:
    fir_subject(int device, enum cufilter_fir_type type, size_t decimation,
                size_t n_taps);
    ~fir_subject() override { cufilter_fir_destroy(d_fir); }

    bool create(bool with_state);
    void process(size_t n, memory from, memory to);
    void set_taps(size_t n_taps);
    void reset();
    void get_state();
    void synchronize();
    void check();
    size_t taken() const { return d_x.size() / d_spec.in_size - d_before; }

private:
    enum cufilter_status reset_handle() override
    {
        return d_fir ? cufilter_fir_reset(d_fir) : CUFILTER_OK;
    }
    void reset_expected() override
    {
        d_x.clear();
        d_before = 0;
    }
    bytes draw_items(size_t n) const;
    std::vector<float> draw_taps(size_t n);
    bytes expected_outputs(size_t first, size_t count) const;

    struct cufilter_fir_config d_config;
    cufilter_fir* d_fir = nullptr;
    struct fir_spec d_spec = {};
    std::vector<float> d_taps;
    std::vector<complex> d_h;
    bytes d_x;           // all input items since the last reset, behind ...
    size_t d_before = 0; // ... so many of an initial state
};

fir_subject::fir_subject(int device, enum cufilter_fir_type type, size_t decimation,
                         size_t n_taps)
    : subject(device)
{
    const size_t in[] = {8, 8, 4, 4, 4, 2}, out[] = {8, 8, 4, 8, 2, 8};
    cufilter_fir_defaults(&d_config, type);
    d_config.device = device;
    d_config.decimation = decimation;
    d_spec.in_size = in[type];
    d_spec.out_size = out[type];
    d_spec.decimation = decimation;
    d_spec.complex_taps =
        type == CUFILTER_FIR_CCC || type == CUFILTER_FIR_FCC || type == CUFILTER_FIR_SCC;
    d_taps = draw_taps(n_taps);
    d_config.taps = d_taps.data();
    d_config.n_taps = n_taps;
}

bytes fir_subject::draw_items(size_t n) const
{
    bytes x(n * d_spec.in_size);
    for (size_t i = 0; i < n * d_spec.in_size; i += d_spec.in_size == 2 ? 2 : 4) {
        const float f = noise();
        const auto s = (int16_t)(1000 * f);
        if (d_spec.in_size == 2)
            std::memcpy(&x[i], &s, 2);
        else
            std::memcpy(&x[i], &f, 4);
    }
    return x;
}

// Sets what is expected, too.
std::vector<float> fir_subject::draw_taps(size_t n)
{
    std::vector<float> taps(n * (d_spec.complex_taps ? 2 : 1));
    for (float& v : taps)
        v = noise();
    d_h.clear();
    for (size_t k = 0; k < n; ++k)
        d_h.push_back(d_spec.complex_taps ? complex(taps[2 * k], taps[2 * k + 1])
                                          : complex(taps[k]));
    return taps;
}

bool fir_subject::create(bool with_state)
{
    const bytes state = draw_items(d_h.size() - 1);
    if (with_state)
        d_config.initial_state = state.data();
    const bool done = must([&] { return cufilter_fir_create(&d_fir, &d_config); });
    if (!take_costs() && with_state) {
        d_x = state;
        d_before = d_h.size() - 1;
    }
    return done;
}

// Outputs [first, first + count).
bytes fir_subject::expected_outputs(size_t first, size_t count) const
{
    const auto D = (int64_t)d_spec.decimation, before = (int64_t)d_before;
    const auto item = [&](int64_t n) {
        return n + before < 0
                   ? complex(0)
                   : load(d_spec, d_x.data() + (size_t)(n + before) * d_spec.in_size);
    };
    bytes y(count * d_spec.out_size);
    for (size_t i = 0; i < count; ++i)
        store(d_spec, &y[i * d_spec.out_size],
              output(d_h, (int64_t)(first + i) * D, item));
    return y;
}

void fir_subject::process(size_t n, memory from, memory to)
{
    const bytes x = draw_items(n);
    const size_t D = d_spec.decimation, unit = std::min<size_t>(d_spec.in_size, 4);
    const size_t first = taken() / D, count = (taken() + n) / D - first;
    block& in = make(from, x.size(), draw(4) * unit);
    block& out = make(to, count * d_spec.out_size, draw(4) * 4);
    size_t n_out = 0;
    const bool done = must([&] {
        in.set(x.data(), x.size());
        const enum cufilter_status status =
            cufilter_fir_process(d_fir, in.p(), n, out.p(), count, &n_out);
        require(n_out == (status == CUFILTER_OK ? count : 0), "number of outputs");
        return status;
    });
    d_x.insert(d_x.end(), x.begin(), x.end());
    std::vector<part> parts = {{&out, 0, expected_outputs(first, count)}};
    if (take_costs())
        parts.clear();
    end_call({&in, &out}, parts, done);
}

void fir_subject::set_taps(size_t n_taps)
{
    const std::vector<float> taps = draw_taps(n_taps);
    must([&] { return cufilter_fir_set_taps(d_fir, taps.data(), n_taps); });
    take_costs();
}

void fir_subject::reset()
{
    if (must([&] { return cufilter_fir_reset(d_fir); }))
        reset_expected();
    take_costs();
}

void fir_subject::get_state()
{
    const size_t n = 1 + draw(90), size = d_spec.in_size;
    bytes state(n * size), expected(n * size, 0);
    const size_t have = std::min(n * size, d_x.size());
    std::copy(d_x.end() - (std::ptrdiff_t)have, d_x.end(),
              expected.end() - (std::ptrdiff_t)have);
    if (must([&] { return cufilter_fir_get_state(d_fir, state.data(), n); }) &&
        !take_costs())
        require(state == expected, "the state is not the last input");
}

void fir_subject::synchronize()
{
    const bool done = must([&] { return cufilter_fir_synchronize(d_fir); });
    take_costs();
    end_queue(done);
}

void fir_subject::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    cufilter_fir_destroy(d_fir);
    d_fir = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

void set_environment(const std::string& transfer, const char* wait)
{
    setenv("CUFILTER_FIR_TRANSFER", transfer.c_str(), 1);
    setenv("CUFILTER_FIR_WAIT", wait, 1);
}

std::string draw_transfer()
{
    const size_t items[] = {1, 13, 100, 1024, 5000};
    switch (draw(4)) {
    case 0:
        return "zero-copy";
    case 1:
        return "";
    default:
        return "chunked:" + std::to_string(items[draw(5)]);
    }
}

size_t draw_length(size_t decimation)
{
    switch (draw(12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2: // several pieces through the bounce buffers
        return decimation < 4 ? 3000 : ((size_t)1 << 15) * 3 + draw(1 << 16);
    default:
        return draw(draw(2) ? 50 : 2000);
    }
}

size_t draw_taps_count()
{
    return 1 + draw(draw(3) ? 8 : 90);
}

void step(fir_subject& p, size_t decimation)
{
    switch (draw(12)) {
    case 0:
    case 1:
        return p.set_taps(draw_taps_count());
    case 2:
        return p.reset();
    case 3:
        return p.get_state();
    case 4:
        return p.synchronize();
    case 5: {
        const model_cuda::aside mine;
        cudaSetDevice((int)draw(2));
        return;
    }
    default:
        const memory from = gpu_host::draw_memory();
        const memory to = draw(2) ? from : gpu_host::draw_memory();
        p.process(draw_length(decimation), from, to);
    }
}

void any_calls(uint64_t seed)
{
    const size_t decimations[] = {1, 2, 3, 7, 100, 1021};
    const size_t decimation = decimations[draw(6)];
    rule_seed = (unsigned)seed;
    set_environment(draw_transfer(), draw(4) ? "flag" : "sync");
    fir_subject p((int)draw(2), (enum cufilter_fir_type)draw(6), decimation,
                  draw_taps_count());
    p.create(draw(3) == 0);
    for (size_t k = 4 + draw(12); k > 0; --k)
        step(p, decimation);
    p.check();
}

// Longer than the ring of history, queued or in chunks of the backend's own choice; few
// outputs, as sums take their time here.
void long_calls(uint64_t seed)
{
    const size_t decimation = 4001 + draw(500);
    rule_seed = (unsigned)seed;
    set_environment("", "flag");
    fir_subject p((int)draw(2), draw(3) ? CUFILTER_FIR_FFF : CUFILTER_FIR_SCC, decimation,
                  1 + draw(5000));
    p.create(false);
    p.process(draw(9000), memory::pageable, memory::pageable);
    for (size_t k = 0; k < 3; ++k) {
        const memory from = draw(2) ? memory::device : gpu_host::draw_memory();
        p.process((1 << 19) + draw(1 << 20), from, draw(3) ? from : memory::device);
    }
    p.check();
}

// More history than was made room for.
void longer_history(uint64_t)
{
    rule_seed = 0;
    set_environment("", "flag");
    fir_subject p((int)draw(2), CUFILTER_FIR_FFF, 3001, 11);
    p.create(false);
    p.process(draw(60000), gpu_host::draw_memory(), gpu_host::draw_memory());
    p.set_taps(200000 + draw(1000));
    p.process(6000 + draw(3000), gpu_host::draw_memory(), gpu_host::draw_memory());
    p.set_taps(10);
    p.process(9000, gpu_host::draw_memory(), gpu_host::draw_memory());
    p.check();
}

// A little of everything, for failures in each place.
void some_calls(memory from, memory to, bool forgiving)
{
    rule_seed = 5;
    fir_subject p((int)draw(2), CUFILTER_FIR_CCF, 3, 9);
    p.forgiving = forgiving;
    if (!p.create(true))
        return;
    p.process(70, from, to);
    p.process(1, from, to);
    p.set_taps(40);
    p.process(1100, from, to);
    p.get_state();
    p.process(300, from, to);
    p.reset();
    p.process(20, from, to);
    p.check();
}

void grown_history(memory from, memory to)
{
    rule_seed = 0;
    fir_subject p(0, CUFILTER_FIR_FFF, 20000, 9);
    p.create(false);
    p.process(70, from, to);
    p.set_taps(300000);
    p.process(20000, from, to);
    p.check();
}

using body = std::function<void(memory from, memory to)>;

void all_memories(const body& run)
{
    for (const char* transfer : {"zero-copy", "chunked:150"})
        gpu_host::for_memories([&](memory from, memory to) {
            set_environment(transfer, "flag");
            run(from, to);
        });
}

class gpu_host_fir : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(gpu_host_fir);
    CPPUNIT_TEST(calls_of_all_kinds);
    CPPUNIT_TEST(calls_longer_than_the_ring);
    CPPUNIT_TEST(history_grows);
    CPPUNIT_TEST(memory_runs_out);
    CPPUNIT_TEST(calls_fail);
    CPPUNIT_TEST(the_device_is_lost);
    CPPUNIT_TEST_SUITE_END();

public:
    void calls_of_all_kinds() { gpu_host::for_seeds(1, 200, any_calls); }
    void calls_longer_than_the_ring() { gpu_host::for_seeds(1, 12, long_calls); }
    void history_grows() { gpu_host::for_seeds(1, 6, longer_history); }
    void memory_runs_out()
    {
        gpu_host::for_failures(1, true,
                               [] { grown_history(memory::device, memory::device); });
        all_memories([](memory from, memory to) {
            gpu_host::for_failures(1, true, [=] { some_calls(from, to, false); });
        });
    }
    void calls_fail()
    {
        all_memories([](memory from, memory to) {
            gpu_host::for_failures(2, false, [=] { some_calls(from, to, true); });
        });
    }
    void the_device_is_lost()
    {
        all_memories([](memory from, memory to) {
            gpu_host::for_losses(3, [=] { some_calls(from, to, true); });
        });
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_fir);

} // namespace
