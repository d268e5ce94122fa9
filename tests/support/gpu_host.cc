// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the GPU backends' host code share.
#include "gpu_host.h"

#include "runner.h"

#include "../../cuda/core/core.h"
#include <cufilter/device.h>

#include <algorithm>
#include <cstring>

namespace gpu_host {

namespace {

constexpr size_t guard = 64; // bytes before and after a block
constexpr unsigned char fresh = 0xff, retired = 0x5c;

void require_cuda(cudaError_t error)
{
    runner::require(error == cudaSuccess, "a call of the test itself fails");
}

size_t room_of(size_t offset, size_t bytes)
{
    return 2 * guard + offset + bytes;
}

} // namespace

memory draw_memory()
{
    return (memory)model_cuda::draw(n_memories);
}

const char* name_of(memory kind)
{
    static const char* const names[] = {"pageable", "registered", "pinned", "device"};
    return names[(size_t)kind];
}

float noise()
{
    return (float)model_cuda::draw(1 << 20) / (1 << 19) - 1;
}

block::block(memory kind, int device, size_t bytes, size_t offset)
    : d_kind(kind), d_device(device), d_bytes(bytes), d_offset(offset)
{
    const model_cuda::aside mine;
    const size_t room = room_of(offset, bytes);
    require_cuda(cudaSetDevice(device));
    if (kind == memory::device) {
        require_cuda(cudaMalloc(&d_origin, room));
    } else if (kind == memory::pinned) {
        require_cuda(
            cudaHostAlloc(&d_origin, room, cudaHostAllocMapped | cudaHostAllocPortable));
        d_base = (char*)d_origin;
    } else {
        const size_t page = 4096;
        d_origin = std::aligned_alloc(page, (room / page + 1) * page);
        d_base = (char*)d_origin;
    }
    const std::vector<unsigned char> all_fresh(room, fresh);
    if (kind == memory::device)
        model_cuda::poke(d_origin, all_fresh.data(), room);
    else
        std::memcpy(d_base, all_fresh.data(), room);
    if (kind == memory::registered)
        runner::expect(cufilter_buffer_register(device, d_base, room), CUFILTER_OK,
                       "registering");
    d_given = (char*)d_origin + guard + offset;
}

block::~block()
{
    const model_cuda::aside mine;
    if (d_kind == memory::device)
        cudaFree(d_origin);
    else if (d_kind == memory::pinned)
        cudaFreeHost(d_origin);
    else if (d_kind == memory::registered && !d_retired)
        cufilter_buffer_unregister(d_device, d_base);
    if (d_kind == memory::pageable || d_kind == memory::registered)
        std::free(d_origin);
}

void block::set(const void* from, size_t bytes)
{
    if (d_kind == memory::device)
        model_cuda::poke(d_given, from, bytes);
    else if (bytes)
        std::memcpy(d_given, from, bytes);
}

void block::get(void* to, size_t bytes) const
{
    if (d_kind == memory::device)
        model_cuda::peek(to, d_given, bytes);
    else if (bytes)
        std::memcpy(to, d_given, bytes);
}

void block::retire()
{
    const model_cuda::aside mine;
    if (d_kind == memory::registered)
        runner::expect(cufilter_buffer_unregister(d_device, d_base), CUFILTER_OK,
                       "unregistering");
    d_retired = true;
    const std::vector<unsigned char> text(d_bytes, retired);
    set(text.data(), d_bytes);
}

std::vector<unsigned char> block::all() const
{
    std::vector<unsigned char> bytes(room_of(d_offset, d_bytes));
    if (d_kind == memory::device)
        model_cuda::peek(bytes.data(), d_origin, bytes.size());
    else
        std::memcpy(bytes.data(), d_origin, bytes.size());
    return bytes;
}

std::string block::complaint() const
{
    const std::vector<unsigned char> bytes = all();
    const size_t begin = guard + d_offset, end = begin + d_bytes;
    for (size_t i = 0; i < bytes.size(); ++i) {
        const bool inside = i >= begin && i < end;
        if (!inside && bytes[i] != fresh)
            return std::string(name_of(d_kind)) + " memory is written outside of a block";
        if (inside && d_retired && bytes[i] != retired)
            return std::string(name_of(d_kind)) +
                   " memory is written after the call is over";
    }
    return "";
}

// ---------------------------------------------------------------- subjects

bool subject::must(const std::function<enum cufilter_status()>& call)
{
    const bool failed_before = model_cuda::has_failed(), lost = model_cuda::is_lost();
    const enum cufilter_status status = call();
    runner::require(status == CUFILTER_OK || *cufilter_last_error(),
                    "a failure without a text");
    runner::require(status != CUFILTER_OK || !lost, "success without a device");
    if (model_cuda::is_lost())
        return status == CUFILTER_OK;
    if (model_cuda::has_failed() == failed_before || status == CUFILTER_OK) {
        runner::expect(status, CUFILTER_OK, "call");
        return true;
    }
    runner::expect(call(), CUFILTER_OK, "the call after one that failed");
    if (forgiving) {
        runner::expect(reset_handle(), CUFILTER_OK, "reset");
        d_costs = true;
    }
    return true;
}

bool subject::take_costs()
{
    const bool costs = d_costs;
    if (costs)
        reset_expected();
    d_costs = false;
    return costs;
}

block& subject::make(memory kind, size_t bytes, size_t offset)
{
    d_blocks.push_back(std::make_unique<block>(kind, d_device, bytes, offset));
    return *d_blocks.back();
}

namespace {

void compare(const block& out, size_t offset, const std::vector<char>& expected)
{
    std::vector<char> got(offset + expected.size());
    out.get(got.data(), got.size());
    for (size_t i = 0; i < expected.size(); ++i)
        if (got[offset + i] != expected[i])
            CPPUNIT_FAIL(runner::say("byte", i, "of an output's", expected.size(), "in",
                                     name_of(out.kind()), "memory is wrong"));
}

} // namespace

void subject::end_call(const std::vector<block*>& touched, std::vector<part> parts,
                       bool done)
{
    bool queue = done;
    for (const block* b : touched)
        queue = queue && b->kind() == memory::device;
    if (queue) {
        d_queued.push_back({touched, std::move(parts)});
        return;
    }
    for (const part& p : parts)
        if (done)
            compare(*p.out, p.offset, p.expected);
    for (block* b : touched)
        b->retire();
}

void subject::end_queue(bool done)
{
    for (const queued& q : d_queued) {
        for (const part& p : q.parts)
            if (done)
                compare(*p.out, p.offset, p.expected);
        for (block* b : q.touched)
            b->retire();
    }
    d_queued.clear();
}

void subject::check_blocks()
{
    model_cuda::finish();
    for (const auto& b : d_blocks)
        runner::require(b->complaint().empty(), b->complaint());
}

// ---------------------------------------------------------------- runs

namespace {

void run(uint64_t seed, model_cuda::pace pace, const std::function<void()>& prepare,
         const std::function<void()>& body, bool lost, const std::string& name)
{
    model_cuda::begin(seed, pace);
    prepare();
    std::string complaint;
    try {
        body();
    } catch (const CppUnit::Exception& e) {
        complaint = std::string(e.what()) + "\n";
    }
    model_cuda::finish();
    complaint += model_cuda::faults();
    if (!lost && cudaPeekAtLastError() != cudaSuccess)
        complaint += "an error is left for the next launch's check\n";
    if (!lost && complaint.empty() && !model_cuda::leaks().empty())
        complaint += "not freed: " + model_cuda::leaks();
    if (!complaint.empty())
        CPPUNIT_FAIL(name + ": " + complaint);
}

model_cuda::pace pace_of(uint64_t seed)
{
    using model_cuda::pace;
    return seed % 4 == 0 ? pace::lazy : seed % 4 == 3 ? pace::eager : pace::mixed;
}

} // namespace

enum cufilter_status prepared_kernels::add(const void* spec, int device)
{
    int current;
    CUFILTER_TRY_CUDA(cudaGetDevice(&current));
    if (current != device)
        model_cuda::fault("a kernel is prepared for another device");
    d_specs.insert(spec);
    return CUFILTER_OK;
}

void prepared_kernels::expect(const void* spec) const
{
    if (!d_specs.count(spec))
        model_cuda::fault("a launch's kernel has not been prepared");
}

void for_seeds(uint64_t first, size_t n, const std::function<void(uint64_t seed)>& body)
{
    const char* const only = std::getenv("CUFILTER_TEST_SEED");
    for (uint64_t seed = first; seed < first + n; ++seed)
        if (!only || seed == std::strtoull(only, nullptr, 10))
            run(
                seed, pace_of(seed), [] {}, [&] { body(seed); }, false,
                runner::say("seed", seed));
}

void for_memories(const std::function<void(memory from, memory to)>& body)
{
    const memory kinds[] = {memory::pageable, memory::registered, memory::device};
    for (memory from : kinds)
        for (memory to : kinds)
            body(from, to);
}

void for_failures(uint64_t seed, bool allocations, const std::function<void()>& body)
{
    const char* const what = allocations ? "allocation" : "call";
    size_t calls = 0;
    for (size_t n = 0; n <= calls; ++n) {
        run(
            seed, pace_of(n),
            [&] {
                if (n)
                    model_cuda::fail_call(n, allocations);
            },
            body, false, runner::say("seed", seed, what, n, "fails"));
        calls = std::max(calls, n ? 0 : model_cuda::calls(allocations));
        if (n && !model_cuda::has_failed())
            break;
    }
}

void for_losses(uint64_t seed, const std::function<void()>& body)
{
    for (size_t n = 1;; ++n) {
        run(
            seed, pace_of(n), [&] { model_cuda::lose_device_at(n); }, body, true,
            runner::say("seed", seed, "the device is lost at work", n));
        if (!model_cuda::is_lost())
            break;
    }
}

} // namespace gpu_host
