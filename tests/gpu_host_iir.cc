// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the IIR filter's GPU backend under a model of CUDA: plain functions
// take the place of the kernels, with their rules checked.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/core/gpu_stream.h"
#include "../cuda/iir/iir_gpu.h"

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

using doubles = std::vector<double>;
using floats = std::vector<float>;

using number = std::complex<double>;

// Of `parts` doubles.
number take(const double* at, size_t parts)
{
    return {at[0], parts == 2 ? at[1] : 0};
}
void leave(double* at, size_t parts, number v)
{
    at[0] = v.real();
    if (parts == 2)
        at[1] = v.imag();
}

// The state is [sections][2][width]; complex sections have 2 parts, real ones 1.
void filter(const struct iir_sections& s, size_t parts, size_t width, const float* x,
            size_t n, float* y, double* state)
{
    for (size_t i = 0; i < n; ++i)
        for (size_t c = 0; c < width; c += parts) {
            const size_t at = i * width + c;
            number v(x[at], parts == 2 ? x[at + 1] : 0);
            for (size_t k = 0; k < s.n; ++k) {
                const struct iir_section &re = s.s[k], &im = s.im[k];
                double *z1 = state + 2 * k * width + c, *z2 = z1 + width;
                const number w = number(re.b0, im.b0) * v + take(z1, parts);
                leave(z1, parts,
                      number(re.b1, im.b1) * v - number(re.a1, im.a1) * w +
                          take(z2, parts));
                leave(z2, parts, number(re.b2, im.b2) * v - number(re.a2, im.a2) * w);
                v = w;
            }
            y[at] = (float)v.real();
            if (parts == 2)
                y[at + 1] = (float)v.imag();
        }
}

// How the algorithms describe themselves to the rule that chooses one.
size_t warm_up = 100;
bool by_turns = false; // the rule's choice changes with a launch's length

struct algorithm {
    void* table;        // sections, in device memory
    size_t parts;       // of their numbers
    unsigned char sign; // what a launch leaves in its workspace
};

template <class A>
enum cufilter_status make(A** out, const struct iir_spec* spec,
                          const struct iir_sections* sections)
{
    static unsigned char signs = 0;
    void* table;
    *out = nullptr;
    CUFILTER_TRY(cufilter_gpu_alloc("model", &table, sizeof *sections, "tables"));
    model_cuda::poke(table, sections, sizeof *sections);
    signs = (unsigned char)(signs % 200 + 1);
    *out = new A{{table, spec->complex_sections ? 2u : 1u, signs}};
    return CUFILTER_OK;
}

template <class A>
void release(A* a)
{
    if (a)
        cudaFree(a->table);
    delete a;
}

bool overlap(const float* x, const float* y, size_t n)
{
    return x < y + n && y < x + n;
}

void use_workspace(const algorithm& a, void* workspace, size_t bytes)
{
    unsigned char* const w = reach((unsigned char*)workspace, bytes);
    for (size_t i = 0; i < bytes; ++i) {
        if (w[i] != 0 && w[i] != a.sign)
            return model_cuda::fault("a workspace holds what no launch has left");
        w[i] = a.sign;
    }
}

void run(const algorithm& a, const struct iir_launch& l, size_t workspace_bytes,
         bool in_place)
{
    const struct iir_sections& s = *reach((const struct iir_sections*)a.table);
    const size_t values = l.n * l.width, states = 2 * s.n * l.width;
    const float* const x = reach(l.x, values);
    float* const y = reach(l.y, values);
    double* const to = reach(l.state_out, states);
    const double* const from = reach(l.state_in, states);
    if (l.n < 1 || (l.in_place && (x != y || !in_place)) ||
        (!l.in_place && overlap(x, y, values)))
        model_cuda::fault("a launch's x and y are not what its rules ask for");
    if (from < to + states && to < from + states)
        model_cuda::fault("a launch's states overlap");
    if (*reach(l.blocks_done) != 0)
        model_cuda::fault("blocks_done is not 0 before a launch");
    use_workspace(a, l.workspace, workspace_bytes);
    doubles z(from, from + states);
    filter(s, a.parts, l.width, x, l.n, y, z.data());
    for (double& v : z)
        if (!std::isfinite(v)) {
            ++*reach(l.recoveries);
            v = 0;
        }
    std::copy(z.begin(), z.end(), to);
    if (l.flag)
        __atomic_store_n((uint32_t*)reach(l.flag), l.ticket, __ATOMIC_RELEASE);
}

enum cufilter_status launch(const algorithm& a, const struct iir_launch& l,
                            size_t workspace_bytes, bool in_place, const char* name)
{
    const cudaError_t error =
        model_cuda::queue(l.stream, name, [=] { run(a, l, workspace_bytes, in_place); });
    return error == cudaSuccess ? CUFILTER_OK : cufilter_cuda_fail(error, name, "launch");
}

} // namespace

struct iir_warps : algorithm {
};
struct iir_columns : algorithm {
};
struct iir_lookback : algorithm {
};

extern "C" {

enum cufilter_status iir_warps_make(struct iir_warps** out, const struct iir_spec* spec,
                                    const struct iir_sections* sections)
{
    if (spec->complex_sections)
        model_cuda::fault("warps do not take complex coefficients");
    return make(out, spec, sections);
}

void iir_warps_free(struct iir_warps* a)
{
    release(a);
}

enum cufilter_status iir_warps_launch(const struct iir_warps* a,
                                      const struct iir_launch* l)
{
    return launch(*a, *l, 0, false, "iir_warps_launch");
}

size_t iir_warps_warm_up(const struct iir_warps*)
{
    return warm_up;
}

double iir_warps_microseconds(const struct iir_warps*, size_t n)
{
    return by_turns && n % 2 ? 1e9 : 0;
}

int iir_warps_describe(const struct iir_warps*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's warps");
}

enum cufilter_status iir_columns_make(struct iir_columns** out,
                                      const struct iir_spec* spec,
                                      const struct iir_sections* sections)
{
    if (spec->complex_sections)
        model_cuda::fault("columns do not take complex coefficients");
    return make(out, spec, sections);
}

void iir_columns_free(struct iir_columns* a)
{
    release(a);
}

enum cufilter_status iir_columns_launch(const struct iir_columns* a,
                                        const struct iir_launch* l)
{
    return launch(*a, *l, 0, false, "iir_columns_launch");
}

size_t iir_columns_warm_up(const struct iir_columns*)
{
    return warm_up;
}

double iir_columns_microseconds(const struct iir_columns*, size_t n)
{
    return by_turns && n % 2 ? 1e9 : 0;
}

int iir_columns_describe(const struct iir_columns*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's columns");
}

enum cufilter_status iir_lookback_make(struct iir_lookback** out,
                                       const struct iir_spec* spec,
                                       const struct iir_sections* sections,
                                       enum iir_lookback_form form)
{
    if (spec->complex_sections && form != IIR_LOOKBACK_PH)
        model_cuda::fault("complex coefficients take the form PH");
    return make(out, spec, sections);
}

void iir_lookback_free(struct iir_lookback* a)
{
    release(a);
}

size_t iir_lookback_workspace(const struct iir_lookback*, size_t n)
{
    return 256 + n / 8;
}

enum cufilter_status iir_lookback_launch(const struct iir_lookback* a,
                                         const struct iir_launch* l)
{
    return launch(*a, *l, iir_lookback_workspace(a, l->n), true, "iir_lookback_launch");
}

int iir_lookback_describe(const struct iir_lookback*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's lookback");
}

// Nothing here runs on the CPU.
const struct iir_backend iir_backend_cpu = {};
const struct iir_backend iir_backend_direct = {};
enum cufilter_status iir_direct_make_plan(void**, const struct iir_spec*,
                                          const struct iir_taps*)
{
    return cufilter_fail(CUFILTER_ERR_INTERNAL, "no direct form here");
}

} // extern "C"

// ---------------------------------------------------------------- tests

namespace {

// Of numbers of `parts`, turned by an angle where those are 2.
doubles draw_sections(size_t n, size_t parts)
{
    doubles sos;
    for (size_t i = 0; i < n; ++i) {
        const double r = 0.5 + 0.4 * (double)draw(100) / 100, t = (double)draw(300) / 100;
        const double real[] = {0.3, 0.1, 0.2, 1, -2 * r * std::cos(t), r * r};
        for (size_t k = 0; k < 6; ++k) {
            const number v = std::polar(1.0, (double)(k % 3) * t) * real[k];
            if (parts == 2)
                sos.insert(sos.end(), {v.real(), v.imag()});
            else
                sos.push_back(real[k]);
        }
    }
    return sos;
}

// A filter on the model's GPU, and beside it what it should do.
class iir_subject : public gpu_host::subject
{
public:
    iir_subject(int device, size_t channels, bool complex, bool complex_sections,
                size_t n_sections, enum cufilter_iir_algorithm algorithm)
        : subject(device),
          d_width(channels * (complex ? 2 : 1)),
          d_parts(complex_sections ? 2 : 1)
    {
        cufilter_iir_defaults(&d_config);
        d_config.device = device;
        d_config.n_channels = channels;
        d_config.complex_data = complex;
        d_config.complex_coefficients = complex_sections;
        d_config.algorithm = algorithm;
        d_sos = draw_sections(n_sections, d_parts);
        d_config.sos = d_sos.data();
        d_config.n_sections = n_sections;
        take(d_sos, true);
    }
    ~iir_subject() override { cufilter_iir_destroy(d_iir); }

    // Calls that may fail: again after a failure, they must succeed.
    bool create()
    {
        const bool done = must([&] { return cufilter_iir_create(&d_iir, &d_config); });
        take_costs();
        return done;
    }
    void process(size_t n, memory from, memory to, bool in_place);
    void set_sections(size_t n_sections, bool reset);
    void reset();
    void get_state();
    void set_state();
    void synchronize();
    void check();

    size_t width() const { return d_width; }
    size_t n_sections() const { return d_expected.n; }

private:
    enum cufilter_status reset_handle() override
    {
        return d_iir ? cufilter_iir_reset(d_iir) : CUFILTER_OK;
    }
    void reset_expected() override { d_state.assign(d_state.size(), 0); }
    void take(const doubles& sos, bool reset);

    struct cufilter_iir_config d_config;
    cufilter_iir* d_iir = nullptr;
    size_t d_width, d_parts;
    doubles d_sos;
    struct iir_sections d_expected;
    doubles d_state;
};

void iir_subject::take(const doubles& sos, bool reset)
{
    runner::expect(iir_sections_make(&d_expected, sos.data(), sos.size() / 6 / d_parts,
                                     d_parts == 2, "test"),
                   CUFILTER_OK, "sections");
    if (reset)
        d_state.assign(2 * d_expected.n * d_width, 0);
}

void iir_subject::process(size_t n, memory from, memory to, bool in_place)
{
    const size_t values = n * d_width, bytes = values * sizeof(float);
    floats x(values), expected(values);
    for (float& v : x)
        v = noise();
    block& in = make(from, bytes, draw(4) * sizeof(float));
    block& out = in_place ? in : make(to, bytes, draw(4) * 4);
    const bool done = must([&] {
        in.set(x.data(), bytes);
        return cufilter_iir_process(d_iir, n ? in.p() : nullptr, n,
                                    n ? out.p() : nullptr);
    });
    filter(d_expected, d_parts, d_width, x.data(), n, expected.data(), d_state.data());
    std::vector<part> parts = {{&out, 0, gpu_host::bytes_of(expected)}};
    if (take_costs())
        parts.clear(); // not known any more
    if (in_place)
        end_call({&in}, parts, done);
    else
        end_call({&in, &out}, parts, done);
}

void iir_subject::set_sections(size_t n_sections, bool reset)
{
    const doubles sos = draw_sections(n_sections, d_parts);
    if (!must([&] {
            return cufilter_iir_set_sos(d_iir, sos.data(), n_sections,
                                        reset ? CUFILTER_IIR_RESET : CUFILTER_IIR_KEEP);
        }))
        return;
    take(sos, reset);
    take_costs();
}

void iir_subject::reset()
{
    if (must([&] { return cufilter_iir_reset(d_iir); }))
        d_state.assign(d_state.size(), 0);
    take_costs();
}

void iir_subject::get_state()
{
    doubles z(d_state.size());
    if (must([&] { return cufilter_iir_get_state(d_iir, z.data(), z.size()); }) &&
        !take_costs())
        require(z == d_state, "the state is not what it should be");
}

void iir_subject::set_state()
{
    doubles z(d_state.size());
    for (double& v : z)
        v = noise();
    if (must([&] { return cufilter_iir_set_state(d_iir, z.data(), z.size()); }))
        d_state = z;
    take_costs();
    z.assign(z.size(), 1e300);
}

void iir_subject::synchronize()
{
    const bool done = must([&] { return cufilter_iir_synchronize(d_iir); });
    take_costs();
    end_queue(done);
}

void iir_subject::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    require(cufilter_iir_get_recoveries(d_iir) == 0, "recoveries");
    cufilter_iir_destroy(d_iir);
    d_iir = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

// "" lets the backend choose.
void set_transfer(const std::string& text)
{
    setenv("CUFILTER_IIR_TRANSFER", text.c_str(), 1);
}

std::string draw_transfer()
{
    const size_t bytes[] = {4, 52, 300, 4096, 20000};
    switch (draw(4)) {
    case 0:
        return "zero-copy";
    case 1:
        return "";
    default:
        return "chunked:" + std::to_string(bytes[draw(5)]);
    }
}

// Items of a call: few chunks of those above, and many pieces of the bounce buffers now
// and then.
size_t draw_length(size_t width)
{
    const size_t longest = 3 * ((size_t)128 << 10) / sizeof(float) / width;
    switch (draw(12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return longest + draw(longest);
    default:
        return draw(draw(2) ? 50 : 3000);
    }
}

void step(iir_subject& p)
{
    switch (draw(14)) {
    case 0:
        return p.set_sections(1 + draw(4), true);
    case 1:
        return p.set_sections(p.n_sections(), false);
    case 2:
        return p.reset();
    case 3:
        return p.get_state();
    case 4:
        return p.set_state();
    case 5:
        return p.synchronize();
    case 6: {
        const model_cuda::aside mine;
        cudaSetDevice((int)draw(2));
        return;
    }
    default:
        const memory from = gpu_host::draw_memory();
        const memory to = draw(2) ? from : gpu_host::draw_memory();
        p.process(draw_length(p.width()), from, to, from == to && draw(3) == 0);
    }
}

void any_calls(uint64_t)
{
    const enum cufilter_iir_algorithm algorithms[] = {
        CUFILTER_IIR_AUTO, CUFILTER_IIR_WARPS, CUFILTER_IIR_PH};
    warm_up = draw(2) ? 100 : 5000;
    by_turns = draw(2);
    set_transfer(draw_transfer());
    const bool complex = draw(2), complex_sections = complex && draw(2);
    const size_t algorithm = draw(3);
    iir_subject p((int)draw(2), 1 + draw(3), complex, complex_sections, 1 + draw(4),
                  algorithms[complex_sections && algorithm == 1 ? 0 : algorithm]);
    p.create();
    for (size_t k = 4 + draw(16); k > 0; --k)
        step(p);
    p.check();
}

// Calls long enough that the backend takes chunks by itself.
void long_calls(uint64_t)
{
    set_transfer("");
    warm_up = 100;
    iir_subject p((int)draw(2), 1, false, false, 1, CUFILTER_IIR_AUTO);
    p.create();
    const size_t chunked = ((size_t)3 << 19) / sizeof(float);
    for (size_t k = 0; k < 2; ++k) {
        const memory from = draw(2) ? memory::registered : memory::pinned;
        const memory to = draw(3) ? from : memory::device;
        p.process(chunked + draw(chunked), from, to, from == to && draw(2));
    }
    p.check();
}

// A little of everything, for failures in each place.
void some_calls(memory from, memory to, bool forgiving)
{
    warm_up = 5000;
    by_turns = true;
    iir_subject p((int)draw(2), 1, false, false, 2, CUFILTER_IIR_AUTO);
    p.forgiving = forgiving;
    if (!p.create())
        return;
    p.process(70, from, to, false);
    p.set_sections(3, true);
    p.process(91, from, to, false);
    p.get_state();
    p.set_state();
    p.process(120, from, from, true);
    p.set_sections(3, false);
    p.process(3, from, to, false);
    p.reset();
    p.process(200, from, to, false);
    p.check();
}

using body = std::function<void(memory from, memory to)>;

void all_memories(const body& run)
{
    for (const char* transfer : {"zero-copy", "chunked:52"})
        gpu_host::for_memories([&](memory from, memory to) {
            set_transfer(transfer);
            run(from, to);
        });
}

class gpu_host_iir : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(gpu_host_iir);
    CPPUNIT_TEST(calls_of_all_kinds);
    CPPUNIT_TEST(calls_in_chunks);
    CPPUNIT_TEST(memory_runs_out);
    CPPUNIT_TEST(calls_fail);
    CPPUNIT_TEST(the_device_is_lost);
    CPPUNIT_TEST_SUITE_END();

public:
    void calls_of_all_kinds() { gpu_host::for_seeds(1, 200, any_calls); }
    void calls_in_chunks() { gpu_host::for_seeds(1, 8, long_calls); }
    void memory_runs_out()
    {
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

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_iir);

} // namespace
