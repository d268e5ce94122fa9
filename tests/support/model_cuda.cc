// SPDX-License-Identifier: GPL-3.0-or-later
// A model of the CUDA runtime: see model_cuda.h.
#include "model_cuda.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>

namespace model_cuda {

namespace {

constexpr int n_devices = 2;
constexpr size_t room = size_t(1) << 36; // of device addresses
constexpr unsigned char poison = 0xff;   // NaN, as float and as double
constexpr uintptr_t first_made = 0x1000; // handles of streams and events

// A place in a stream that others wait for.
struct mark {
    bool done = false;
    cudaStream_t stream;
};

struct work {
    std::string name;
    std::function<void()> run;
    std::shared_ptr<mark> awaited, set;
};

struct stream {
    int device;
    std::deque<work> queue;
};

struct event {
    int device;
    std::shared_ptr<mark> last;
};

enum class kind { device, pinned, registered };
const char* const kind_names[] = {"device memory", "pinned memory", "registration"};

// Memory that work may reach.
struct range {
    kind is;
    int device;
    size_t bytes;
    uintptr_t address; // for the device
    char* host;
    bool holds(uintptr_t p, size_t n) const
    {
        return p >= address && p - address <= bytes && n <= bytes - (p - address);
    }
    bool host_holds(uintptr_t p) const { return p - (uintptr_t)host < bytes; }
};

struct fate { // of calls that can fail
    size_t calls = 0, fails_at = 0;
    bool take() { return ++calls == fails_at; }
};

struct model {
    std::recursive_mutex lock;
    std::mt19937_64 random;
    pace at = pace::mixed;
    char* addresses = nullptr;
    size_t taken = 0;
    std::vector<range> ranges;
    std::map<cudaStream_t, stream> streams;
    std::map<cudaEvent_t, event> events;
    std::set<cudaStream_t> destroyed; // with work left
    uintptr_t next_handle = first_made;
    std::string faults;
    size_t n_faults = 0;
    fate any, allocations;
    bool failed = false, lost = false;
    size_t loses_at = 0;
    int running_on = -1;
    std::vector<char> nowhere; // what work reaches that may reach nothing
};

model m;
thread_local int current_device = 0;
thread_local int asides = 0;
thread_local cudaError_t last_error = cudaSuccess;

void touched(int, siginfo_t* info, void*)
{
    char text[120];
    const auto p = (uintptr_t)info->si_addr;
    const bool device = p - (uintptr_t)m.addresses < room;
    const int n =
        std::snprintf(text, sizeof text, "the host touched %s at %p\n",
                      device ? "memory of the device" : "no memory", info->si_addr);
    if (write(2, text, (size_t)n) < 0)
        _exit(2);
    _exit(1);
}

void reserve_addresses()
{
    if (m.addresses)
        return;
    void* const p = mmap(nullptr, room, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        std::perror("no room for device addresses");
        std::exit(2);
    }
    m.addresses = static_cast<char*>(p);
    /* Memory that is freed is soon asked for again: not to be given back. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    struct sigaction action = {};
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
}

uintptr_t take_address(size_t bytes)
{
    const size_t page = 4096, begin = m.taken;
    m.taken += (bytes + 2 * page) / page * page;
    if (m.taken > room) {
        std::fprintf(stderr, "the model is out of device addresses\n");
        std::exit(2);
    }
    return (uintptr_t)m.addresses + begin;
}

// ---------------------------------------------------------------- doing work

bool ready(const stream& s)
{
    return !s.queue.empty() &&
           (!s.queue.front().awaited || s.queue.front().awaited->done);
}

void lose_device()
{
    m.lost = true;
    for (auto& [handle, s] : m.streams) {
        for (work& w : s.queue)
            if (w.set)
                w.set->done = true;
        s.queue.clear();
    }
}

void do_front(stream& s)
{
    const work w = std::move(s.queue.front());
    s.queue.pop_front();
    if (w.run && m.loses_at && --m.loses_at == 0)
        return lose_device();
    m.running_on = s.device;
    if (w.run)
        w.run();
    m.running_on = -1;
    if (w.set)
        w.set->done = true;
}

// Does one piece of work of any stream; false where there is none.
bool do_any()
{
    std::vector<stream*> candidates;
    for (auto& [handle, s] : m.streams)
        if (ready(s))
            candidates.push_back(&s);
    if (candidates.empty())
        return false;
    do_front(*candidates[draw(candidates.size())]);
    return true;
}

// Does the stream's next work, and what that waits for.
void advance(stream& s)
{
    if (m.at != pace::lazy && draw(3) == 0 && do_any())
        return;
    if (ready(s))
        return do_front(s);
    const auto awaited = s.queue.front().awaited;
    const auto other = m.streams.find(awaited->stream);
    if (other == m.streams.end() || other->second.queue.empty()) {
        fault("a stream waits for an event that never comes");
        awaited->done = true;
        return;
    }
    advance(other->second);
}

void drain(stream& s)
{
    while (!s.queue.empty())
        advance(s);
}

void drain_all()
{
    for (auto& [handle, s] : m.streams)
        drain(s);
}

// What happens by itself between two calls.
void pass_time()
{
    if (m.at == pace::eager)
        while (do_any())
            continue;
    if (m.at == pace::mixed && draw(4) == 0)
        for (size_t n = draw(6); n > 0 && do_any(); --n)
            continue;
}

void push(stream& s, work w)
{
    s.queue.push_back(std::move(w));
}

// ---------------------------------------------------------------- calls

enum class may { not_fail, fail, fail_after, fail_for_memory };

cudaError_t remember(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last_error = error;
    return error;
}

bool fails(may rule)
{
    if (rule == may::not_fail || asides)
        return false;
    const bool by_memory = rule == may::fail_for_memory && m.allocations.take();
    const bool fails = m.any.take() || by_memory;
    m.failed = m.failed || fails;
    return fails;
}

// Runs a call's body as a driver would: under its lock, unless the call fails.
template <class F>
cudaError_t call(may rule, F body)
{
    const std::lock_guard<std::recursive_mutex> held(m.lock);
    if (!m.lost)
        pass_time();
    if (m.lost && !asides)
        return remember(cudaErrorIllegalAddress);
    const bool fail = fails(rule);
    if (fail && rule != may::fail_after)
        return remember(rule == may::fail_for_memory ? cudaErrorMemoryAllocation
                                                     : cudaErrorUnknown);
    cudaError_t error = body();
    if (m.lost && !asides)
        error = cudaErrorIllegalAddress;
    return remember(fail ? cudaErrorUnknown : error);
}

// Streams that nobody makes: the legacy one, of each device, and one of each thread
// there. Neither waits for the other here, so that nothing can rely on it.
stream* default_stream(cudaStream_t handle)
{
    static std::atomic<uintptr_t> n_threads{0};
    thread_local const uintptr_t thread = ++n_threads;
    const uintptr_t number = handle == cudaStreamLegacy ? 0 : thread;
    stream& s =
        m.streams[(cudaStream_t)(n_devices * (number + 1) + (uintptr_t)current_device)];
    s.device = current_device;
    return &s;
}

stream* find_stream(cudaStream_t handle)
{
    if (handle == cudaStreamLegacy || handle == cudaStreamPerThread)
        return default_stream(handle);
    const auto found = m.streams.find(handle);
    if (found == m.streams.end() || m.destroyed.count(handle)) {
        fault("a call names a stream that there is not");
        return nullptr;
    }
    return &found->second;
}

range* find_range(const void* p, size_t bytes)
{
    for (range& r : m.ranges)
        if (r.holds((uintptr_t)p, bytes))
            return &r;
    return nullptr;
}

range* find_host(const void* p)
{
    for (range& r : m.ranges)
        if (r.is != kind::device && r.host_holds((uintptr_t)p))
            return &r;
    return nullptr;
}

bool is_device(const void* p)
{
    return (uintptr_t)p - (uintptr_t)m.addresses < room;
}

// Pageable memory is what the model knows nothing of.
bool is_pageable(const void* p)
{
    return !is_device(p) && !find_host(p);
}

bool fits(enum cudaMemcpyKind kind, bool to_device, bool from_device)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
        return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
        return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
        return to_device && from_device;
    default:
        return true;
    }
}

// A side of a copy, when the copy is made.
char* side(const void* p, size_t bytes)
{
    if (is_pageable(p))
        return (char*)const_cast<void*>(p);
    const range* const r = find_host(p);
    if (r && (uintptr_t)p - (uintptr_t)r->host + bytes <= r->bytes)
        return (char*)const_cast<void*>(p);
    return static_cast<char*>(reach_bytes(p, bytes));
}

struct rows {
    size_t to_pitch, from_pitch, width, height;
};

void copy(void* to, const void* from, const rows& r)
{
    for (size_t i = 0; i < r.height; ++i) {
        const char* const source = side((const char*)from + i * r.from_pitch, r.width);
        std::memmove(side((char*)to + i * r.to_pitch, r.width), source, r.width);
    }
}

// The copy with its source read now.
std::function<void()> staged(void* to, const void* from, const rows& r)
{
    auto data = std::make_shared<std::vector<char>>();
    for (size_t i = 0; i < r.height; ++i) {
        const char* const row = (const char*)from + i * r.from_pitch;
        data->insert(data->end(), row, row + r.width);
    }
    const rows packed = {r.to_pitch, r.width, r.width, r.height};
    return [=] { copy(to, data->data(), packed); };
}

cudaError_t copy_async(void* to, const void* from, const rows& r,
                       enum cudaMemcpyKind kind, cudaStream_t handle)
{
    stream* const s = find_stream(handle);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (!r.width || !r.height)
        return cudaSuccess;
    if (!fits(kind, is_device(to), is_device(from))) {
        fault("a copy's kind is not what its sides are");
        return cudaErrorInvalidValue;
    }
    const bool pageable = is_pageable(to) || is_pageable(from);
    /* What the driver may do with pageable memory: take the source along, be done before
     * it returns, or neither. */
    const size_t how = pageable ? draw(3) : 2;
    if (how == 0 && is_pageable(from))
        push(*s, {"copy", staged(to, from, r), nullptr, nullptr});
    else
        push(*s, {"copy", [=] { copy(to, from, r); }, nullptr, nullptr});
    if (how == 1 || (!is_device(to) && !is_device(from)))
        drain(*s);
    return cudaSuccess;
}

// To pageable memory and from it the copy is over, but for the last way to the device.
cudaError_t copy_now(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind)
{
    const rows r = {bytes, bytes, bytes, 1};
    stream* const s = find_stream(cudaStreamLegacy);
    if (!fits(kind, is_device(to), is_device(from))) {
        fault("a copy's kind is not what its sides are");
        return cudaErrorInvalidValue;
    }
    drain(*s);
    if (is_device(to) && is_pageable(from))
        push(*s, {"copy", staged(to, from, r), nullptr, nullptr});
    else if (is_device(to) && is_device(from))
        push(*s, {"copy", [=] { copy(to, from, r); }, nullptr, nullptr});
    else
        copy(to, from, r);
    return cudaSuccess;
}

cudaError_t release(kind is, void* p)
{
    for (size_t i = 0; i < m.ranges.size(); ++i) {
        const range r = m.ranges[i];
        if (r.is != is || (is == kind::device ? (void*)r.address : r.host) != p)
            continue;
        if (is != kind::registered)
            std::free(r.host);
        m.ranges.erase(m.ranges.begin() + (std::ptrdiff_t)i);
        return cudaSuccess;
    }
    fault(std::string("freed, but not there: ") + kind_names[(int)is]);
    return cudaErrorInvalidValue;
}

} // namespace

// ---------------------------------------------------------------- for the test

void begin(uint64_t seed, pace pace)
{
    reserve_addresses();
    m.random.seed(seed);
    m.at = pace;
    m.taken = 0;
    for (const range& r : m.ranges) // of a device that was lost
        if (r.is != kind::registered)
            std::free(r.host);
    m.ranges.clear();
    m.streams.clear();
    m.events.clear();
    m.destroyed.clear();
    m.faults.clear();
    m.n_faults = 0;
    m.any = m.allocations = {};
    m.failed = m.lost = false;
    m.loses_at = 0;
    last_error = cudaSuccess;
}

size_t draw(size_t n)
{
    return (size_t)(m.random() % n);
}

aside::aside()
{
    ++asides;
}

aside::~aside()
{
    --asides;
}

void finish()
{
    const std::lock_guard<std::recursive_mutex> held(m.lock);
    drain_all();
}

void fault(const std::string& text)
{
    if (++m.n_faults <= 20)
        m.faults += text + "\n";
}

std::string faults()
{
    return m.faults;
}

std::string leaks()
{
    std::string text;
    for (const range& r : m.ranges)
        text += std::string(kind_names[(int)r.is]) + " of " + std::to_string(r.bytes) +
                " bytes\n";
    for (const auto& [handle, s] : m.streams)
        if ((uintptr_t)handle > first_made && !m.destroyed.count(handle))
            text += "a stream\n";
    for (size_t i = 0; i < m.events.size(); ++i)
        text += "an event\n";
    return text;
}

size_t calls(bool allocations)
{
    return allocations ? m.allocations.calls : m.any.calls;
}

void fail_call(size_t n, bool allocations)
{
    fate& f = allocations ? m.allocations : m.any;
    f.fails_at = f.calls + n;
}

bool has_failed()
{
    return m.failed;
}

void lose_device_at(size_t n)
{
    m.loses_at = n;
}

bool is_lost()
{
    return m.lost;
}

cudaError_t queue(cudaStream_t handle, const char* name, std::function<void()> work)
{
    return call(may::fail, [&] {
        stream* const s = find_stream(handle);
        if (!s)
            return cudaErrorInvalidResourceHandle;
        if (s->device != current_device)
            fault(std::string(name) + ": launched while another device is current");
        if (last_error != cudaSuccess)
            fault(std::string(name) + ": its check meets an older error");
        push(*s, {name, std::move(work), nullptr, nullptr});
        return cudaSuccess;
    });
}

void* reach_bytes(const void* p, size_t bytes)
{
    if (const range* const r = find_range(p, bytes)) {
        if (r->is == kind::device && m.running_on >= 0 && r->device != m.running_on)
            fault("work reaches for memory of another device");
        return r->host + ((uintptr_t)p - r->address);
    }
    char text[120];
    std::snprintf(text, sizeof text, "work reaches for %zu bytes at %p, which are %s",
                  bytes, p,
                  is_device(p) ? "not allocated" : "neither pinned nor registered");
    if (bytes)
        fault(text);
    m.nowhere.assign(bytes + 64, (char)poison);
    return m.nowhere.data();
}

void poke(void* device, const void* host, size_t bytes)
{
    const std::lock_guard<std::recursive_mutex> held(m.lock);
    if (bytes)
        std::memcpy(reach_bytes(device, bytes), host, bytes);
}

void peek(void* host, const void* device, size_t bytes)
{
    const std::lock_guard<std::recursive_mutex> held(m.lock);
    if (bytes)
        std::memcpy(host, reach_bytes(device, bytes), bytes);
}

} // namespace model_cuda

using namespace model_cuda;

// ---------------------------------------------------------------- errors, devices

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = m.lost ? cudaErrorIllegalAddress : last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return m.lost ? cudaErrorIllegalAddress : last_error;
}

const char* cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess                 ? "no error"
           : error == cudaErrorMemoryAllocation ? "out of memory"
                                                : "an error of the model";
}

const char* cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                              : "cudaErrorOfTheModel";
}

cudaError_t cudaDriverGetVersion(int* version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version)
{
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count)
{
    *count = n_devices;
    return call(may::fail, [] { return cudaSuccess; });
}

// Fails where the device is gone, and with it all that it holds.
cudaError_t cudaSetDevice(int device)
{
    return call(may::not_fail, [=] {
        if (device < 0 || device >= n_devices)
            return cudaErrorInvalidDevice;
        current_device = device;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int* device)
{
    *device = current_device;
    return call(may::fail, [] { return cudaSuccess; });
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device)
{
    return call(may::fail, [=] {
        if (device < 0 || device >= n_devices)
            return cudaErrorInvalidDevice;
        std::memset(properties, 0, sizeof *properties);
        std::snprintf(properties->name, sizeof properties->name, "model %d", device);
        properties->totalGlobalMem = room;
        properties->major = device == 0 ? 9 : 8;
        properties->multiProcessorCount = 132;
        properties->l2CacheSize = 1 << 20;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device)
{
    return call(may::fail, [=] {
        if (device < 0 || device >= n_devices)
            return cudaErrorInvalidDevice;
        switch (attribute) {
        case cudaDevAttrMultiProcessorCount:
            *value = 132;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = device == 0 ? 9 : 8;
            break;
        case cudaDevAttrCanUseHostPointerForRegisteredMem:
            *value = device == 0;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = device == 0 ? 232448 : 101376;
            break;
        default:
            *value = 0;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device)
{
    std::snprintf(text, (size_t)size, "0000:%02x:00.0", device);
    return call(may::fail, [] { return cudaSuccess; });
}

cudaError_t cudaDeviceSynchronize(void)
{
    return call(may::fail_after, [] {
        for (auto& [handle, s] : m.streams)
            if (s.device == current_device)
                drain(s);
        return cudaSuccess;
    });
}

// ---------------------------------------------------------------- memory

// Poison; of much memory its ends, and the middle is what was there before.
static void spoil(const range& r)
{
    const size_t end = std::min(r.bytes, (size_t)1 << 16);
    std::memset(r.host, poison, end);
    std::memset(r.host + r.bytes - end, poison, end);
}

cudaError_t cudaMalloc(void** p, size_t bytes)
{
    return call(may::fail_for_memory, [=] {
        range r = {kind::device, current_device, bytes, take_address(bytes),
                   (char*)std::malloc(bytes + 1)};
        spoil(r);
        m.ranges.push_back(r);
        *p = (void*)r.address;
        return cudaSuccess;
    });
}

cudaError_t cudaFree(void* p)
{
    return p ? call(may::not_fail, [=] { return release(kind::device, p); })
             : cudaSuccess;
}

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned flags)
{
    return call(may::fail_for_memory, [=] {
        if (!(flags & cudaHostAllocMapped))
            fault("pinned memory is not mapped");
        range r = {kind::pinned, current_device, bytes, 0,
                   (char*)std::aligned_alloc(4096, bytes / 4096 * 4096 + 4096)};
        spoil(r);
        r.address = current_device == 0 ? (uintptr_t)r.host : take_address(bytes);
        m.ranges.push_back(r);
        *p = r.host;
        return cudaSuccess;
    });
}

cudaError_t cudaFreeHost(void* p)
{
    return p ? call(may::not_fail, [=] { return release(kind::pinned, p); })
             : cudaSuccess;
}

cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned flags)
{
    return call(may::fail_for_memory, [=] {
        if (!(flags & cudaHostRegisterMapped))
            fault("registered memory is not mapped");
        for (const range& r : m.ranges)
            if (r.is != kind::device && (char*)p < r.host + r.bytes &&
                r.host < (char*)p + bytes)
                return cudaErrorHostMemoryAlreadyRegistered;
        m.ranges.push_back({kind::registered, current_device, bytes,
                            current_device == 0 ? (uintptr_t)p : take_address(bytes),
                            (char*)p});
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void* p)
{
    return call(may::not_fail, [=] { return release(kind::registered, p); });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned)
{
    return call(may::fail, [=] {
        const range* const r = find_host(host);
        if (!r)
            return cudaErrorInvalidValue;
        *device = (void*)(r->address + ((uintptr_t)host - (uintptr_t)r->host));
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes,
                                     const void* p)
{
    return call(may::fail, [=] {
        std::memset(attributes, 0, sizeof *attributes);
        attributes->device = -2;
        const range* const device = is_device(p) ? find_range(p, 1) : nullptr;
        const range* const r = device ? device : find_host(p);
        if (!r)
            return cudaSuccess;
        attributes->type =
            r->is == kind::device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
        attributes->device = r->device;
        const size_t at = (uintptr_t)p - (device ? r->address : (uintptr_t)r->host);
        attributes->devicePointer = (void*)(r->address + at);
        attributes->hostPointer = r->is == kind::device ? nullptr : r->host + at;
        return cudaSuccess;
    });
}

// ---------------------------------------------------------------- copies

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind)
{
    return call(may::fail, [=] { return copy_now(to, from, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return call(may::fail, [=] {
        return copy_async(to, from, {bytes, bytes, bytes, 1}, kind, stream);
    });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                              size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return call(may::fail, [=] {
        if (to_pitch < width || from_pitch < width)
            return cudaErrorInvalidValue;
        return copy_async(to, from, {to_pitch, from_pitch, width, height}, kind, stream);
    });
}

cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t handle)
{
    return call(may::fail, [=] {
        stream* const s = find_stream(handle);
        if (!s)
            return cudaErrorInvalidResourceHandle;
        push(*s, {"memset", [=] { std::memset(reach_bytes(p, bytes), value, bytes); },
                  nullptr, nullptr});
        return cudaSuccess;
    });
}

// ---------------------------------------------------------------- streams, events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags)
{
    return call(may::fail, [=] {
        if (flags != cudaStreamNonBlocking)
            fault("the model knows no streams that wait for the default stream");
        *handle = (cudaStream_t)(m.next_handle += 16);
        m.streams[*handle] = {current_device, {}};
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    return call(may::not_fail, [=] {
        if (!find_stream(handle))
            return cudaErrorInvalidResourceHandle;
        m.destroyed.insert(handle);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    return call(may::fail_after, [=] {
        stream* const s = find_stream(handle);
        if (!s)
            return cudaErrorInvalidResourceHandle;
        drain(*s);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    return call(may::fail, [=] {
        stream* const s = find_stream(handle);
        if (!s)
            return cudaErrorInvalidResourceHandle;
        for (size_t n = 1 + draw(4); n > 0 && !s->queue.empty(); --n)
            advance(*s);
        return s->queue.empty() ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
{
    return call(may::fail, [=] {
        stream* const s = find_stream(handle);
        const auto found = m.events.find(event);
        if (!s || found == m.events.end())
            return cudaErrorInvalidResourceHandle;
        if (found->second.last)
            push(*s, {"wait", nullptr, found->second.last, nullptr});
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned)
{
    return call(may::fail, [=] {
        *handle = (cudaEvent_t)(m.next_handle += 16);
        m.events[*handle] = {current_device, nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    return call(may::fail_after, [=] {
        const auto found = m.events.find(handle);
        if (found == m.events.end())
            return cudaErrorInvalidResourceHandle;
        while (found->second.last && !found->second.last->done)
            advance(m.streams.at(found->second.last->stream));
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    return call(may::not_fail, [=] {
        return m.events.erase(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    return call(may::fail, [=] {
        stream* const s = find_stream(stream_handle);
        const auto found = m.events.find(handle);
        if (!s || found == m.events.end())
            return cudaErrorInvalidResourceHandle;
        if (s->device != found->second.device)
            fault("an event is recorded on another device's stream");
        found->second.last = std::make_shared<mark>();
        found->second.last->stream = stream_handle;
        push(*s, {"record", nullptr, nullptr, found->second.last});
        return cudaSuccess;
    });
}
