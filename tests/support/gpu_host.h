// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the GPU backends' host code share: memory of every kind that a caller
// may bring, and a run under the model of CUDA.
#ifndef CUFILTER_TESTS_GPU_HOST_H
#define CUFILTER_TESTS_GPU_HOST_H

#include "model_cuda.h"

#include <cufilter/status.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gpu_host {

enum class memory { pageable, registered, pinned, device };
constexpr size_t n_memories = 4;
memory draw_memory();
const char* name_of(memory kind);
// A float in [-1, 1).
float noise();

// Bytes that a call reads or writes.
class block
{
public:
    // `offset` bytes from where it is aligned.
    block(memory kind, int device, size_t bytes, size_t offset = 0);
    ~block();
    block(const block&) = delete;
    block& operator=(const block&) = delete;

    memory kind() const { return d_kind; }
    void* p() const { return d_given; }
    void set(const void* from, size_t bytes);
    void get(void* to, size_t bytes) const;
    // The work is over: from now on nothing may touch it.
    void retire();
    // "" or what is wrong.
    std::string complaint() const;

private:
    std::vector<unsigned char> all() const;

    memory d_kind;
    int d_device;
    size_t d_bytes, d_offset;
    bool d_retired = false;
    char* d_base = nullptr; // host memory
    void* d_origin = nullptr;
    void* d_given = nullptr;
};

// Kernels of one kind that may have all shared memory from the moment on when an engine
// is made, each for the device of its specification.
class prepared_kernels
{
public:
    // In a prepare function's place.
    enum cufilter_status add(const void* spec, int device);
    // At a launch.
    void expect(const void* spec) const;

private:
    std::set<const void*> d_specs;
};

// Runs `body` for seeds [first, first + n) in turn and fails the test, naming the seed,
// where it throws, breaks a rule of CUDA or leaves something behind. The body ends with
// its handles destroyed. CUFILTER_TEST_SEED=K runs seed K alone.
void for_seeds(uint64_t first, size_t n, const std::function<void(uint64_t seed)>& body);

// Runs `body` with memory from which a call's items come and to which they go, for each
// way that they may take.
void for_memories(const std::function<void(memory from, memory to)>& body);

// Runs `body` once, and then again and again with each of the calls of CUDA that it makes
// failing in turn. With `allocations` only those for memory.
void for_failures(uint64_t seed, bool allocations, const std::function<void()>& body);
// Lets each piece of work break in turn, and with it all calls that follow.
void for_losses(uint64_t seed, const std::function<void()>& body);

// A handle on the model's GPU beside what it should do. Derived classes make the calls.
class subject
{
public:
    virtual ~subject() = default;

    bool forgiving = false; // a failure may cost the state, but no more

protected:
    explicit subject(int device) : d_device(device) {}

    // Back to no state after a failure.
    virtual enum cufilter_status reset_handle() = 0;
    virtual void reset_expected() = 0;

    // Makes a call that must succeed, again where a call of CUDA has been made to fail.
    // False where the device is gone, and with it what the call would have done.
    bool must(const std::function<enum cufilter_status()>& call);
    // To be asked after must(): whether a failure has cost the state. It has been reset
    // then, and outputs are not known.
    bool take_costs();

    block& make(memory kind, size_t bytes, size_t offset = 0);

    // What a call has written, or will have when what it has queued is done.
    struct part {
        block* out;
        size_t offset; // bytes
        std::vector<char> expected;
    };
    // The end of a call on `touched`: with all of it on the device it is queued, else
    // nothing may touch it any more. Parts are compared if the call is `done`.
    void end_call(const std::vector<block*>& touched, std::vector<part> parts, bool done);
    // What is queued is over; compared if it is `done`.
    void end_queue(bool done);
    // When handles are gone: does what is still queued and looks for what should not have
    // been touched.
    void check_blocks();

    int d_device;

private:
    struct queued {
        std::vector<block*> touched;
        std::vector<part> parts;
    };
    std::vector<std::unique_ptr<block>> d_blocks;
    std::vector<queued> d_queued;
    bool d_costs = false;
};

// The bytes of a vector.
template <class T>
std::vector<char> bytes_of(const std::vector<T>& v)
{
    const char* const p = reinterpret_cast<const char*>(v.data());
    return std::vector<char>(p, p + v.size() * sizeof(T));
}

} // namespace gpu_host

#endif
