// SPDX-License-Identifier: GPL-3.0-or-later
// The host side of the filter banks' GPU backends under a model of CUDA. What takes the
// kernels' place tells frames, channels and items apart as the kernels do, but leaves out
// the transforms: channel c of a frame is its window's sum times a number of its own.
#include "gpu_host.h"
#include "runner.h"

#include "../cuda/core/gpu_stream.h"
#include "../cuda/pfb/pfb_gpu.h"

#include <algorithm>
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

using item = std::complex<float>;
using items = std::vector<item>;
using sum = std::complex<double>;

// Of all but the window: the channel, and the frame's rotation.
sum weight(int32_t channel, size_t rotation)
{
    return {(double)channel + 1, 0.125 * (double)rotation};
}

// sum_m h[m] x[at - m], what there is of x.
template <class F>
sum window(const std::vector<double>& h, int64_t at, F x)
{
    sum w = 0;
    for (size_t m = 0; m < h.size(); ++m)
        w += h[m] * sum(x(at - (int64_t)m));
    return w;
}

struct method {
    double* table = nullptr; // in device memory
    size_t n_taps = 0;
    struct cufilter_gpu_buffer scratch = {};
};

template <class M>
enum cufilter_status make(M** out, const struct pfb_design* design)
{
    std::vector<double> h;
    void* table;
    *out = nullptr;
    for (size_t k = 0; k < design->n_taps; ++k)
        h.push_back(design->h[2 * k]);
    CUFILTER_TRY(
        cufilter_gpu_alloc("model", &table, h.size() * sizeof h[0], "model's tables"));
    model_cuda::poke(table, h.data(), h.size() * sizeof h[0]);
    *out = new M;
    (*out)->table = (double*)table;
    (*out)->n_taps = h.size();
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

std::vector<double> taps_of(const method& m)
{
    const double* const h = reach(m.table, m.n_taps);
    return {h, h + m.n_taps};
}

enum cufilter_status grow(method* m, size_t bytes, cudaStream_t stream)
{
    if (bytes <= m->scratch.bytes)
        return CUFILTER_OK;
    CUFILTER_TRY_CUDA(cudaStreamSynchronize(stream));
    return cufilter_gpu_grow_device("model", &m->scratch, bytes, "model's scratch");
}

void signal(volatile uint32_t* flag, uint32_t ticket)
{
    if (flag)
        __atomic_store_n((uint32_t*)reach(flag), ticket, __ATOMIC_RELEASE);
}

void append(const struct pfb_launch& l)
{
    item* const ring = reach((item*)l.ring, (size_t)l.ring_mask + 1);
    const item* const x = reach((const item*)l.x, (size_t)l.n_items);
    for (int64_t n = 0; n < l.n_items; ++n)
        ring[(l.ring_pos + (uint32_t)n) & l.ring_mask] = x[n];
}

// Where items of frame 0 lie, for each row.
template <class T>
T* frames_of(enum cufilter_pfb_layout layout, T* data, void* const* ports, int64_t offset,
             int64_t pitch, size_t rows, size_t row, int64_t n_frames)
{
    const auto n = (size_t)n_frames, p = (size_t)pitch;
    switch (layout) {
    case CUFILTER_PFB_TIME_MAJOR:
        return reach(data, (n - 1) * p + rows) + row;
    case CUFILTER_PFB_CHANNEL_MAJOR:
        return reach(data, (rows - 1) * p + n) + row * p;
    default:
        return reach((T*)reach(ports, rows)[row] + offset, n);
    }
}

void await_relay(const struct pfb_launch& l)
{
    const auto chunks = (size_t)((l.n_items + PFB_RELAY_ITEMS - 1) / PFB_RELAY_ITEMS);
    const uint32_t* const ready = reach(l.ready, chunks);
    for (size_t c = 0; c < chunks; ++c)
        if (ready[c] != l.ready_ticket)
            return model_cuda::fault("a launch waits for items that nobody relays");
}

void channelize(const method& m, const struct pfb_spec& spec, const struct pfb_launch& l)
{
    const auto R = (int64_t)spec.decimation;
    const std::vector<double> h = taps_of(m);
    const item* const ring = reach((const item*)l.ring, (size_t)l.ring_mask + 1);
    const item* const x = reach((const item*)l.x, (size_t)l.n_items);
    const int32_t* const map = l.map ? reach(l.map, spec.n_map) : nullptr;
    const auto at = [&](int64_t n) {
        return n >= 0 ? x[n] : ring[(l.ring_pos + (uint32_t)n) & l.ring_mask];
    };
    if (l.n_frames < 1 || l.first < 0 || l.first + (l.n_frames - 1) * R >= l.n_items)
        return model_cuda::fault("a launch's frames are not what its rules ask for");
    if (l.rotation != pfb_rotation(&spec, l.frame))
        model_cuda::fault("a launch's rotation is not its frame's");
    std::vector<sum> windows;
    for (int64_t i = 0; i < l.n_frames; ++i)
        windows.push_back(window(h, l.first + i * R, at));
    for (size_t o = 0; o < spec.n_map; ++o) {
        item* const y = frames_of((enum cufilter_pfb_layout)l.layout, (item*)l.y, l.ports,
                                  l.port_offset, l.pitch, spec.n_map, o, l.n_frames);
        const int64_t step = l.layout == CUFILTER_PFB_TIME_MAJOR ? l.pitch : 1;
        for (int64_t i = 0; i < l.n_frames; ++i)
            y[i * step] = item(windows[(size_t)i] *
                               weight(map ? map[o] : (int32_t)o,
                                      pfb_rotation(&spec, l.frame + (uint64_t)i)));
    }
}

// A launch's blocks append and read in any order.
void run(const method& m, const struct pfb_spec& spec, const struct pfb_launch& l,
         bool append_first, size_t scratch)
{
    if (scratch)
        std::memset(reach((char*)m.scratch.device, scratch), 0, scratch);
    if (l.ready)
        await_relay(l);
    if (l.append && append_first)
        append(l);
    channelize(m, spec, l);
    if (l.append && !append_first)
        append(l);
    if (*reach(l.blocks_done) != 0)
        model_cuda::fault("blocks_done is not 0 before a launch");
    signal(l.flag, l.ticket);
}

enum cufilter_status checked(cudaError_t error, const char* name)
{
    return error == cudaSuccess ? CUFILTER_OK : cufilter_cuda_fail(error, name, "launch");
}

} // namespace

struct pfb_fused : method {
    struct pfb_spec spec;
};
struct pfb_general : method {
    struct pfb_spec spec;
};
struct pfb_synth_plan : method {
    struct pfb_synth_spec spec;
};

extern "C" {

bool pfb_fused_supports(const struct pfb_spec* spec, size_t)
{
    return spec->n_channels % 3 != 0;
}

enum cufilter_status pfb_fused_make(struct pfb_fused** plan, const struct pfb_spec* spec,
                                    const struct pfb_design* design)
{
    CUFILTER_TRY(make(plan, design));
    (*plan)->spec = *spec;
    return CUFILTER_OK;
}

enum cufilter_status pfb_fused_launch(const struct pfb_fused* plan,
                                      const struct pfb_launch* launch)
{
    const struct pfb_launch l = *launch;
    const bool first = draw(2);
    return checked(model_cuda::queue(l.stream, "pfb_fused_launch",
                                     [=] { run(*plan, plan->spec, l, first, 0); }),
                   "pfb_fused_launch");
}

void pfb_fused_free(struct pfb_fused* plan)
{
    release(plan);
}

bool pfb_fused_walks(const struct pfb_fused* plan)
{
    return plan->spec.n_channels % 2 == 0;
}

int pfb_fused_describe(const struct pfb_fused*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's fused form");
}

enum cufilter_status pfb_general_make(struct pfb_general** plan,
                                      const struct pfb_spec* spec,
                                      const struct pfb_design* design)
{
    CUFILTER_TRY(make(plan, design));
    (*plan)->spec = *spec;
    return CUFILTER_OK;
}

enum cufilter_status pfb_general_prepare(struct pfb_general* plan, size_t n_frames,
                                         cudaStream_t stream)
{
    return grow(plan, n_frames, stream);
}

enum cufilter_status pfb_general_launch(struct pfb_general* plan,
                                        const struct pfb_launch* launch)
{
    const struct pfb_launch l = *launch;
    const bool first = draw(2);
    const auto scratch = (size_t)l.n_frames;
    CUFILTER_TRY(grow(plan, scratch, l.stream));
    return checked(model_cuda::queue(l.stream, "pfb_general_launch",
                                     [=] { run(*plan, plan->spec, l, first, scratch); }),
                   "pfb_general_launch");
}

void pfb_general_free(struct pfb_general* plan)
{
    release(plan);
}

int pfb_general_describe(const struct pfb_general*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's general form");
}

enum cufilter_status pfb_append_launch(const struct pfb_launch* launch)
{
    const struct pfb_launch l = *launch;
    return checked(model_cuda::queue(l.stream, "pfb_append_launch",
                                     [=] {
                                         if (l.ready)
                                             await_relay(l);
                                         append(l);
                                     }),
                   "pfb_append_launch");
}

enum cufilter_status pfb_notify_launch(const struct pfb_launch* launch)
{
    const struct pfb_launch l = *launch;
    return checked(model_cuda::queue(l.stream, "pfb_notify_launch",
                                     [=] { signal(l.flag, l.ticket); }),
                   "pfb_notify_launch");
}

enum cufilter_status pfb_relay_launch(void* to, const void* from, size_t n,
                                      uint32_t* ready, uint32_t ticket,
                                      cudaStream_t stream)
{
    const size_t chunks = (n + PFB_RELAY_ITEMS - 1) / PFB_RELAY_ITEMS;
    const auto work = [=] {
        uint32_t* const flags = reach(ready, chunks);
        for (size_t c = 0; c < chunks; ++c) {
            if (flags[c] >= ticket)
                model_cuda::fault("a relay finds flags that none before has left");
            flags[c] = ticket;
        }
        std::memcpy(reach((item*)to, n), reach((const item*)from, n), n * sizeof(item));
    };
    return checked(model_cuda::queue(stream, "pfb_relay_launch", work),
                   "pfb_relay_launch");
}

enum cufilter_status pfb_synth_make(struct pfb_synth_plan** plan,
                                    const struct pfb_synth_spec* spec,
                                    const struct pfb_design* design)
{
    CUFILTER_TRY(make(plan, design));
    (*plan)->spec = *spec;
    return CUFILTER_OK;
}

enum cufilter_status pfb_synth_prepare(struct pfb_synth_plan* plan, size_t n_frames,
                                       cudaStream_t stream)
{
    return grow(plan, n_frames, stream);
}

void pfb_synth_free(struct pfb_synth_plan* plan)
{
    release(plan);
}

int pfb_synth_describe_plan(const struct pfb_synth_plan*, char* text, size_t size)
{
    return std::snprintf(text, size, "model's synthesis");
}

// Nothing here runs on the CPU.
const struct pfb_backend pfb_backend_cpu = {};
const struct pfb_synth_backend pfb_synth_backend_cpu = {};

} // extern "C"

namespace {

// Slot p of a frame holds that slot's input times p + 1: item p of z.
item slot_item(item x, size_t p)
{
    return x * (float)(p + 1);
}

// Item p of a frame; z(g, p) is the frame g before it.
template <class F>
item synthesized(const std::vector<double>& h, size_t K, size_t P, uint64_t frame,
                 size_t p, F z)
{
    const size_t rotation = P == K ? 0 : (size_t)((frame + 1) % 2) * K;
    sum y = 0;
    for (size_t q = 0; p + q * K < h.size(); ++q)
        y += h[p + q * K] * sum(z(q, (p + rotation) % P));
    return item(y);
}

void synthesize(const struct pfb_synth_plan& plan, const struct pfb_synth_launch& l)
{
    const struct pfb_synth_spec& s = plan.spec;
    const size_t K = s.n_channels, P = s.n_slots, ring_frames = (size_t)l.ring_mask + 1;
    const std::vector<double> h = taps_of(plan);
    const size_t T = (h.size() + K - 1) / K;
    const auto n = (size_t)l.n_frames;
    item* const ring = reach((item*)l.ring, ring_frames * P);
    const int32_t* const inputs = l.inputs ? reach(l.inputs, P) : nullptr;
    items z((T - 1 + n) * P); // the history's frames first
    std::memset(reach((char*)plan.scratch.device, n), 0, n);
    for (size_t g = 1; g < T; ++g)
        for (size_t p = 0; p < P; ++p)
            z[(T - 1 - g) * P + p] =
                ring[((l.ring_pos - (uint32_t)g) & l.ring_mask) * P + p];
    const int64_t step = l.layout == CUFILTER_PFB_TIME_MAJOR ? l.pitch : 1;
    for (size_t p = 0; p < P; ++p) {
        const int32_t row = inputs ? inputs[p] : (int32_t)p;
        if (row < 0)
            continue;
        const item* const x =
            frames_of(l.layout, (const item*)l.x, l.ports, l.port_offset, l.pitch,
                      s.n_map, (size_t)row, l.n_frames);
        for (size_t i = 0; i < n; ++i)
            z[(T - 1 + i) * P + p] = slot_item(x[(int64_t)i * step], p);
    }
    item* const y = reach((item*)l.y, n * K);
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < K; ++p)
            y[i * K + p] = synthesized(h, K, P, l.odd + i, p, [&](size_t q, size_t slot) {
                return z[(T - 1 + i - q) * P + slot];
            });
    for (size_t i = n > ring_frames ? n - ring_frames : 0; i < n; ++i)
        for (size_t p = 0; p < P; ++p)
            ring[((l.ring_pos + (uint32_t)i) & l.ring_mask) * P + p] =
                z[(T - 1 + i) * P + p];
}

} // namespace

extern "C" enum cufilter_status pfb_synth_launch(struct pfb_synth_plan* plan,
                                                 const struct pfb_synth_launch* launch)
{
    const struct pfb_synth_launch l = *launch;
    CUFILTER_TRY(grow(plan, (size_t)l.n_frames, l.stream));
    return checked(
        model_cuda::queue(l.stream, "pfb_synth_launch", [=] { synthesize(*plan, l); }),
        "pfb_synth_launch");
}

// ---------------------------------------------------------------- tests

namespace {

items draw_items(size_t n)
{
    items x(n);
    for (item& v : x)
        v = {noise(), noise()};
    return x;
}

// What both banks' subjects share: frames in memory of all kinds.
class bank_subject : public gpu_host::subject
{
protected:
    using subject::subject;

    struct placed {
        struct cufilter_pfb_frames frames;
        std::vector<void*> ports;
        std::vector<block*> blocks;
        std::vector<items> images; // of the blocks
        // Item (frame, row) in its image.
        item& at(size_t frame, size_t row)
        {
            if (frames.layout == CUFILTER_PFB_TIME_MAJOR)
                return images[0][frame * frames.pitch + row];
            if (frames.layout == CUFILTER_PFB_CHANNEL_MAJOR)
                return images[0][row * frames.pitch + frame];
            return images[row][frame];
        }
    };
    // Ports lie in memory of `kind`, or each in memory of its own that the GPU reaches.
    void place(placed* p, size_t rows, size_t n_frames, memory kind, bool mixed);
    std::vector<double> draw_taps(size_t n);

    std::vector<float> d_taps;
};

void bank_subject::place(placed* p, size_t rows, size_t n_frames, memory kind, bool mixed)
{
    const enum cufilter_pfb_layout layouts[] = {
        CUFILTER_PFB_TIME_MAJOR, CUFILTER_PFB_CHANNEL_MAJOR, CUFILTER_PFB_PORTS};
    p->frames = {};
    p->frames.layout = layouts[draw(3)];
    p->frames.capacity = n_frames + draw(3);
    const bool by_frame = p->frames.layout == CUFILTER_PFB_TIME_MAJOR;
    const bool ports = p->frames.layout == CUFILTER_PFB_PORTS;
    p->frames.pitch = (by_frame ? rows : p->frames.capacity) + draw(3);
    const size_t n = (by_frame ? p->frames.capacity : rows) * p->frames.pitch;
    item poison;
    std::memset((void*)&poison, 0xff, sizeof poison);
    p->images.assign(ports ? rows : 1, items(ports ? p->frames.capacity : n, poison));
    const memory near[] = {memory::device, memory::registered, memory::pinned};
    for (const items& image : p->images) {
        const memory where = mixed && ports ? near[draw(3)] : kind;
        block& b = make(where, image.size() * sizeof(item), draw(3) * sizeof(item));
        p->blocks.push_back(&b);
        p->ports.push_back(b.p());
    }
    if (ports)
        p->frames.ports = p->ports.data();
    else
        p->frames.data = p->ports[0];
}

std::vector<double> bank_subject::draw_taps(size_t n)
{
    d_taps.resize(n);
    for (float& v : d_taps)
        v = noise();
    return {d_taps.begin(), d_taps.end()};
}

// ---------------------------------------------------------------- channelizer

class pfb_subject : public bank_subject
{
public:
    pfb_subject(int device, size_t n_channels, size_t decimation, size_t n_taps,
                bool with_map);
    ~pfb_subject() override { cufilter_pfb_destroy(d_pfb); }

    bool create(bool with_state);
    void process(size_t n, memory from, memory to, bool mixed);
    void set_taps(size_t n_taps);
    void set_map();
    void reset();
    void get_state();
    void synchronize();
    void check();
    size_t channels() const { return d_spec.n_channels; }

private:
    enum cufilter_status reset_handle() override
    {
        return d_pfb ? cufilter_pfb_reset(d_pfb) : CUFILTER_OK;
    }
    void reset_expected() override
    {
        d_x.clear();
        d_start = d_count = 0;
    }
    std::vector<int32_t> draw_map() const;

    struct cufilter_pfb_config d_config;
    cufilter_pfb* d_pfb = nullptr;
    struct pfb_spec d_spec = {};
    std::vector<double> d_h;
    std::vector<int32_t> d_map;
    items d_x;            // all input since the last reset
    uint64_t d_start = 0; // item 0's number
    uint64_t d_count = 0;
};

pfb_subject::pfb_subject(int device, size_t n_channels, size_t decimation, size_t n_taps,
                         bool with_map)
    : bank_subject(device)
{
    cufilter_pfb_defaults(&d_config, n_channels);
    d_spec.n_channels = n_channels;
    d_spec.decimation = decimation;
    d_spec.n_map = with_map ? 1 + draw(n_channels + 2) : n_channels;
    d_map = draw_map();
    for (size_t o = 0; !with_map && o < n_channels; ++o)
        d_map[o] = (int32_t)o;
    d_h = draw_taps(n_taps);
    d_config.device = device;
    d_config.decimation = decimation;
    d_config.taps = d_taps.data();
    d_config.n_taps = n_taps;
    d_config.channel_map = with_map ? d_map.data() : nullptr;
    d_config.n_map = with_map ? d_map.size() : 0;
}

std::vector<int32_t> pfb_subject::draw_map() const
{
    std::vector<int32_t> map(d_spec.n_map);
    for (int32_t& c : map)
        c = (int32_t)draw(d_spec.n_channels);
    return map;
}

bool pfb_subject::create(bool with_state)
{
    const items state = draw_items(with_state ? 1 + draw(50) : 0);
    if (with_state) {
        d_config.initial_state = (const float*)state.data();
        d_config.n_state = state.size();
        d_config.initial_count = ((uint64_t)1 << 40) + draw(1000);
    }
    const bool done = must([&] { return cufilter_pfb_create(&d_pfb, &d_config); });
    if (!take_costs()) {
        d_x = state;
        d_count = d_config.initial_count;
        d_start = d_count - state.size();
    }
    return done;
}

void pfb_subject::process(size_t n, memory from, memory to, bool mixed)
{
    const items x = draw_items(n);
    const size_t R = d_spec.decimation;
    const uint64_t first = d_count / R;
    const size_t count = (size_t)((d_count + n) / R - first);
    block& in = make(from, n * sizeof(item), draw(3) * sizeof(item));
    placed out;
    size_t n_frames = 0;
    place(&out, d_spec.n_map, count, to, mixed);
    const bool done = must([&] {
        in.set(x.data(), n * sizeof(item));
        const enum cufilter_status status =
            cufilter_pfb_process(d_pfb, in.p(), n, &out.frames, &n_frames);
        require(n_frames == (status == CUFILTER_OK ? count : 0), "number of frames");
        return status;
    });
    d_x.insert(d_x.end(), x.begin(), x.end());
    d_count += n;
    const auto at = [&](int64_t i) { return i < 0 ? item(0) : d_x[(size_t)i]; };
    for (size_t i = 0; i < count; ++i) {
        const uint64_t s = first + i;
        const sum w = window(d_h, (int64_t)((s + 1) * R - 1 - d_start), at);
        for (size_t o = 0; o < d_spec.n_map; ++o)
            out.at(i, o) = item(w * weight(d_map[o], pfb_rotation(&d_spec, s)));
    }
    std::vector<part> parts;
    std::vector<block*> touched = {&in};
    for (size_t b = 0; b < out.blocks.size(); ++b) {
        parts.push_back({out.blocks[b], 0, gpu_host::bytes_of(out.images[b])});
        touched.push_back(out.blocks[b]);
    }
    if (take_costs())
        parts.clear();
    end_call(touched, parts, done);
}

void pfb_subject::set_taps(size_t n_taps)
{
    d_h = draw_taps(n_taps);
    must([&] { return cufilter_pfb_set_taps(d_pfb, d_taps.data(), n_taps); });
    take_costs();
}

void pfb_subject::set_map()
{
    d_map = draw_map();
    must([&] { return cufilter_pfb_set_channel_map(d_pfb, d_map.data(), d_map.size()); });
    take_costs();
}

void pfb_subject::reset()
{
    if (must([&] { return cufilter_pfb_reset(d_pfb); }))
        reset_expected();
    take_costs();
}

void pfb_subject::get_state()
{
    const size_t n = 1 + draw(90);
    items state(n), expected(n);
    const size_t have = std::min(n, d_x.size());
    std::copy(d_x.end() - (std::ptrdiff_t)have, d_x.end(),
              expected.end() - (std::ptrdiff_t)have);
    if (must([&] { return cufilter_pfb_get_state(d_pfb, state.data(), n); }) &&
        !take_costs())
        require(state == expected, "the state is not the last input");
}

void pfb_subject::synchronize()
{
    const bool done = must([&] { return cufilter_pfb_synchronize(d_pfb); });
    take_costs();
    end_queue(done);
}

void pfb_subject::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    cufilter_pfb_destroy(d_pfb);
    d_pfb = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

// ---------------------------------------------------------------- synthesizer

class synth_subject : public bank_subject
{
public:
    synth_subject(int device, size_t n_channels, bool twox, size_t n_taps, bool with_map);
    ~synth_subject() override { cufilter_pfb_synth_destroy(d_synth); }

    bool create();
    void process(size_t n, memory from, memory to, bool mixed);
    void set_taps(size_t n_taps);
    void set_map();
    void reset();
    void get_state();
    void synchronize();
    void check();
    size_t channels() const { return d_K; }

private:
    enum cufilter_status reset_handle() override
    {
        return d_synth ? cufilter_pfb_synth_reset(d_synth) : CUFILTER_OK;
    }
    void reset_expected() override { d_z.clear(); }
    std::vector<int32_t> draw_map() const;

    struct cufilter_pfb_synth_config d_config;
    cufilter_pfb_synth* d_synth = nullptr;
    size_t d_K, d_P, d_n_map;
    std::vector<double> d_h;
    std::vector<int32_t> d_map;
    items d_z; // frames since the last reset, d_P items each
};

synth_subject::synth_subject(int device, size_t n_channels, bool twox, size_t n_taps,
                             bool with_map)
    : bank_subject(device), d_K(n_channels), d_P(n_channels * (twox ? 2 : 1))
{
    cufilter_pfb_synth_defaults(&d_config, n_channels, twox);
    d_n_map = with_map ? 1 + draw(d_P) : d_P;
    d_map = draw_map();
    for (size_t o = 0; !with_map && o < d_P; ++o)
        d_map[o] = (int32_t)o;
    d_h = draw_taps(n_taps);
    d_config.device = device;
    d_config.taps = d_taps.data();
    d_config.n_taps = n_taps;
    d_config.channel_map = with_map ? d_map.data() : nullptr;
    d_config.n_map = with_map ? d_map.size() : 0;
}

// Each slot at most once.
std::vector<int32_t> synth_subject::draw_map() const
{
    std::vector<int32_t> slots(d_P);
    for (size_t p = 0; p < d_P; ++p)
        slots[p] = (int32_t)p;
    for (size_t p = d_P - 1; p > 0; --p)
        std::swap(slots[p], slots[draw(p + 1)]);
    slots.resize(d_n_map);
    return slots;
}

bool synth_subject::create()
{
    const bool done =
        must([&] { return cufilter_pfb_synth_create(&d_synth, &d_config); });
    take_costs();
    return done;
}

void synth_subject::process(size_t n, memory from, memory to, bool mixed)
{
    const size_t before = d_z.size() / d_P;
    placed in;
    place(&in, d_n_map, n, from, mixed);
    block& out = make(to, n * d_K * sizeof(item), draw(3) * sizeof(item));
    d_z.resize(d_z.size() + n * d_P);
    for (size_t i = 0; i < n; ++i)
        for (size_t o = 0; o < d_n_map; ++o) {
            const auto slot = (size_t)d_map[o];
            in.at(i, o) = {noise(), noise()};
            d_z[(before + i) * d_P + slot] = slot_item(in.at(i, o), slot);
        }
    size_t n_out = 0;
    const bool done = must([&] {
        for (size_t b = 0; b < in.blocks.size(); ++b)
            in.blocks[b]->set(in.images[b].data(), in.images[b].size() * sizeof(item));
        const enum cufilter_status status =
            cufilter_pfb_synth_process(d_synth, &in.frames, n, out.p(), n * d_K, &n_out);
        require(n_out == (status == CUFILTER_OK ? n * d_K : 0), "number of items");
        return status;
    });
    items y(n * d_K);
    for (size_t i = 0; i < n; ++i)
        for (size_t p = 0; p < d_K; ++p)
            y[i * d_K + p] =
                synthesized(d_h, d_K, d_P, before + i, p, [&](size_t q, size_t slot) {
                    return q > before + i ? item(0) : d_z[(before + i - q) * d_P + slot];
                });
    std::vector<part> parts = {{&out, 0, gpu_host::bytes_of(y)}};
    std::vector<block*> touched = in.blocks;
    touched.push_back(&out);
    if (take_costs())
        parts.clear();
    end_call(touched, parts, done);
}

void synth_subject::set_taps(size_t n_taps)
{
    d_h = draw_taps(n_taps);
    must([&] { return cufilter_pfb_synth_set_taps(d_synth, d_taps.data(), n_taps); });
    take_costs();
}

void synth_subject::set_map()
{
    d_map = draw_map();
    must([&] {
        return cufilter_pfb_synth_set_channel_map(d_synth, d_map.data(), d_map.size());
    });
    take_costs();
}

void synth_subject::reset()
{
    if (must([&] { return cufilter_pfb_synth_reset(d_synth); }))
        reset_expected();
    take_costs();
}

void synth_subject::get_state()
{
    const size_t n = 1 + draw(20);
    items state(n * d_P), expected(n * d_P);
    const size_t have = std::min(expected.size(), d_z.size());
    std::copy(d_z.end() - (std::ptrdiff_t)have, d_z.end(),
              expected.end() - (std::ptrdiff_t)have);
    if (must([&] { return cufilter_pfb_synth_get_state(d_synth, state.data(), n); }) &&
        !take_costs())
        require(state == expected, "the state is not the last frames");
}

void synth_subject::synchronize()
{
    const bool done = must([&] { return cufilter_pfb_synth_synchronize(d_synth); });
    take_costs();
    end_queue(done);
}

void synth_subject::check()
{
    if (draw(2)) // what is queued is done all the same
        synchronize();
    cufilter_pfb_synth_destroy(d_synth);
    d_synth = nullptr;
    end_queue(!model_cuda::is_lost());
    check_blocks();
}

// ---------------------------------------------------------------- runs

void set_environment(const std::string& piece, const char* method)
{
    setenv("CUFILTER_PFB_PIECE", piece.c_str(), 1);
    setenv("CUFILTER_PFB_METHOD", method, 1);
}

// Items of a piece; 0: the backend's choice.
size_t draw_piece()
{
    const size_t lengths[] = {3, 13, 100, 1024, 17000, 20000};
    return draw(3) ? lengths[draw(6)] : 0;
}

size_t draw_length(size_t longest)
{
    switch (draw(12)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return longest / 2 + draw(longest);
    default:
        return draw(draw(2) ? 50 : 1000);
    }
}

// Steps that both have.
template <class S>
void step(S& p, size_t longest)
{
    switch (draw(13)) {
    case 0:
        return p.set_taps(1 + draw(40));
    case 1:
        return p.set_map();
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
        p.process(draw_length(longest), from, to, draw(5) == 0);
    }
}

void any_channels(uint64_t)
{
    const size_t K = 1 + draw(8);
    const size_t piece = draw_piece();
    set_environment(piece ? std::to_string(piece) : "", draw(3) ? "" : "general");
    pfb_subject p((int)draw(2), K, draw(2) ? K : 1 + draw(K), 1 + draw(40), draw(2));
    p.create(draw(3) == 0);
    for (size_t k = 4 + draw(12); k > 0; --k)
        step(p, piece && piece < 1024 ? 1000 : 60000);
    p.check();
}

// One queued call behind the other, each with ports of its own.
void queued_ports(uint64_t)
{
    set_environment("", "");
    pfb_subject p((int)draw(2), 4, 4, 9, false);
    p.create(false);
    for (size_t k = 0; k < 24; ++k)
        p.process(40 + draw(40), memory::device, memory::device, false);
    p.check();
}

void any_synthesis(uint64_t)
{
    const size_t K = 1 + draw(6);
    synth_subject p((int)draw(2), K, draw(2), 1 + draw(40), draw(2));
    p.create();
    for (size_t k = 4 + draw(12); k > 0; --k)
        step(p, 10000);
    p.check();
}

// Longer than the ring, and than pieces of the backend's own choice.
void long_calls(uint64_t)
{
    set_environment("", "");
    pfb_subject p((int)draw(2), 64, 64, 1 + draw(200), true);
    p.create(false);
    for (size_t k = 0; k < 3; ++k) {
        const memory from = draw(2) ? memory::device : gpu_host::draw_memory();
        p.process((1 << 18) + draw(1 << 19), from, draw(2) ? from : memory::device,
                  false);
    }
    p.check();
}

void long_synthesis(uint64_t)
{
    synth_subject p((int)draw(2), 16, draw(2), 1 + draw(60), true);
    p.create();
    for (size_t k = 0; k < 2; ++k) {
        const memory from = gpu_host::draw_memory();
        p.process((1 << 13) + draw(1 << 16), from, draw(2) ? from : memory::device,
                  false);
    }
    p.check();
}

template <class S>
void some_calls(S& p, memory from, memory to)
{
    p.process(70, from, to, false);
    p.process(1, from, to, false);
    p.set_taps(30);
    p.process(400, from, to, false);
    p.set_map();
    p.process(90, from, to, false);
    p.get_state();
    p.set_taps(9);
    p.process(300, from, to, false);
    p.reset();
    p.process(20, from, to, false);
    p.check();
}

void some_channels(memory from, memory to, bool forgiving)
{
    pfb_subject p((int)draw(2), 4, 3, 9, true);
    p.forgiving = forgiving;
    if (p.create(true))
        some_calls(p, from, to);
}

void some_synthesis(memory from, memory to, bool forgiving)
{
    synth_subject p((int)draw(2), 4, true, 9, true);
    p.forgiving = forgiving;
    if (p.create())
        some_calls(p, from, to);
}

// More history than was made room for.
void grown_channels()
{
    pfb_subject p(0, 4096, 4096, 9, true);
    p.create(false);
    p.process(5000, memory::device, memory::device, false);
    p.set_taps(700000);
    p.set_map();
    p.process(5000, memory::device, memory::device, false);
    p.check();
}

using body = std::function<void(memory from, memory to)>;

void all_memories(const body& run)
{
    for (const char* method : {"fused", "general"})
        gpu_host::for_memories([&](memory from, memory to) {
            set_environment("150", method);
            run(from, to);
        });
}

// A GPU's memory cannot be filled by the host, nor pageable memory by a GPU.
void ports_of_two_worlds(uint64_t)
{
    set_environment("", "");
    const int device = (int)draw(2);
    const std::vector<float> taps = {1, 2, 3};
    gpu_host::block near(memory::device, device, 800), far(memory::pageable, device, 800);
    gpu_host::block x(memory::pageable, device, 800);
    void* ports[] = {draw(2) ? near.p() : far.p(), near.p(), far.p()};
    const struct cufilter_pfb_frames frames = {CUFILTER_PFB_PORTS, nullptr, ports, 0, 10};
    struct cufilter_pfb_config c;
    cufilter_pfb* pfb = nullptr;
    size_t n_frames = 0;
    cufilter_pfb_defaults(&c, 3);
    c.device = device, c.taps = taps.data(), c.n_taps = 3;
    runner::expect(cufilter_pfb_create(&pfb, &c), CUFILTER_OK, "create");
    runner::expect(cufilter_pfb_process(pfb, x.p(), 30, &frames, &n_frames),
                   CUFILTER_ERR_INVALID, "process");
    runner::expect_text({"ports", "pageable"});
    cufilter_pfb_destroy(pfb);
}

class gpu_host_pfb : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(gpu_host_pfb);
    CPPUNIT_TEST(calls_of_all_kinds);
    CPPUNIT_TEST(calls_longer_than_the_ring);
    CPPUNIT_TEST(ports_in_two_kinds_of_memory);
    CPPUNIT_TEST(memory_runs_out);
    CPPUNIT_TEST(calls_fail);
    CPPUNIT_TEST(the_device_is_lost);
    CPPUNIT_TEST_SUITE_END();

public:
    void calls_of_all_kinds()
    {
        gpu_host::for_seeds(1, 200, any_channels);
        gpu_host::for_seeds(501, 60, queued_ports);
        gpu_host::for_seeds(1001, 120, any_synthesis);
    }
    void calls_longer_than_the_ring()
    {
        gpu_host::for_seeds(1, 8, long_calls);
        gpu_host::for_seeds(1001, 8, long_synthesis);
    }
    void ports_in_two_kinds_of_memory()
    {
        gpu_host::for_seeds(1, 4, ports_of_two_worlds);
    }
    void memory_runs_out()
    {
        gpu_host::for_failures(1, true, grown_channels);
        all_memories([](memory from, memory to) {
            gpu_host::for_failures(1, true, [=] { some_channels(from, to, false); });
            gpu_host::for_failures(1, true, [=] { some_synthesis(from, to, false); });
        });
    }
    void calls_fail()
    {
        all_memories([](memory from, memory to) {
            gpu_host::for_failures(2, false, [=] { some_channels(from, to, true); });
            gpu_host::for_failures(2, false, [=] { some_synthesis(from, to, true); });
        });
    }
    void the_device_is_lost()
    {
        all_memories([](memory from, memory to) {
            gpu_host::for_losses(3, [=] { some_channels(from, to, true); });
            gpu_host::for_losses(3, [=] { some_synthesis(from, to, true); });
        });
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(gpu_host_pfb);

} // namespace
