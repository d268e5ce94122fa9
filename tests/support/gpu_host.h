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
#include <string>
#include <vector>

namespace gpu_host {

enum class memory { pageable, registered, pinned, device };
constexpr size_t n_memories = 4;
memory draw_memory();
const char* name_of(memory kind);

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

// Runs `body` for seeds [first, first + n) in turn and fails the test, naming the seed,
// where it throws, breaks a rule of CUDA or leaves something behind. The body ends with
// its handles destroyed. CUFILTER_TEST_SEED=K runs seed K alone.
void for_seeds(uint64_t first, size_t n, const std::function<void(uint64_t seed)>& body);

// Runs `body` once, and then again and again with each of the calls of CUDA that it makes
// failing in turn. With `allocations` only those for memory.
void for_failures(uint64_t seed, bool allocations, const std::function<void()>& body);
// Lets each piece of work break in turn, and with it all calls that follow.
void for_losses(uint64_t seed, const std::function<void()>& body);

// Blocks that outlive a body's handles.
class blocks
{
public:
    block& make(memory kind, int device, size_t bytes, size_t offset = 0);
    // Does what is still queued and looks for what should not have been touched.
    void check();

private:
    std::vector<std::unique_ptr<block>> d_blocks;
};

} // namespace gpu_host

#endif
