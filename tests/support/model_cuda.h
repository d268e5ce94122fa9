// SPDX-License-Identifier: GPL-3.0-or-later
// A model of the CUDA runtime for tests of the host code that orders work for a GPU.
//
// It implements the functions that the library calls. Work is queued, and done only when
// a wait demands it or at random before, in a random order that the rules of streams and
// events allow. Device memory has addresses that the host cannot touch, is poisoned when
// it is allocated, and only work may reach it; work may not reach host memory that is
// neither pinned nor registered. A copy from or to pageable memory may touch it at the
// call or as late as the stream allows; cudaMemcpy() from it to the device returns with
// the data still on their way, which the legacy stream's work alone waits for. There are
// two devices: on the first, registered memory has one address for both sides, on the
// second it has two.
//
// What breaks the rules is a fault, which a test asks for at its end. Kernels are
// replaced by functions that queue() a computation and find memory with reach().
#ifndef CUFILTER_TESTS_MODEL_CUDA_H
#define CUFILTER_TESTS_MODEL_CUDA_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace model_cuda {

// How many work items are done before they are demanded: none, some, all at once.
enum class pace { lazy, mixed, eager };

// Starts anew; nothing may be left of what was before.
void begin(uint64_t seed, pace pace);

// A number in [0, n), from the model's own source.
size_t draw(size_t n);

// Does all work that is queued.
void finish();
// All broken rules so far, one a line; then what was not freed. Both "" at best.
std::string faults();
std::string leaks();

// While one lives, this thread's calls are the test's own: none is counted or fails.
class aside
{
public:
    aside();
    ~aside();
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;
};

// Calls that can fail, since begin(); with `allocations`, of memory alone.
size_t calls(bool allocations);
// Lets the n-th call from now on, n >= 1, fail, once.
void fail_call(size_t n, bool allocations);
bool has_failed();
// The n-th piece of work from now on breaks, and with it all calls that follow.
void lose_device_at(size_t n);
bool is_lost();

// For the functions that take the kernels' place. queue() answers as a launch's check
// does; the work runs when the stream comes to it.
cudaError_t queue(cudaStream_t stream, const char* name, std::function<void()> work);
void fault(const std::string& text);
// Where the host finds p[0 .. bytes-1] of a device address, as work alone may ask.
void* reach_bytes(const void* p, size_t bytes);
template <class T>
T* reach(T* p, size_t n = 1)
{
    return static_cast<T*>(reach_bytes(
        const_cast<const void*>(static_cast<const volatile void*>(p)), n * sizeof(T)));
}

// What the test itself may do to device memory, at once.
void poke(void* device, const void* host, size_t bytes);
void peek(void* host, const void* device, size_t bytes);

} // namespace model_cuda

#endif
