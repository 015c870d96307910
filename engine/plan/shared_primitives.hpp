// SPDX-License-Identifier: Apache-2.0
// Kernels of oneDNN by what they were asked to do, so that equal layers and equal shapes ask only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include <tenon/planning/words_hash.hpp>

namespace tenon::inline v1::engine {

/// Everything that a kernel depends on, as words.
using KernelKey = std::vector<std::uint64_t>;
void append(KernelKey& key, const dnnl::memory::desc& desc);
void append(KernelKey& key, float value);

/// A kernel, or the answer that there is none (null primitive).
struct MadeKernel {
  dnnl::primitive primitive;
  std::string name;
  std::vector<dnnl::memory::desc> descs;  ///< What the maker asks of it: the layouts that it chose, say.
  std::size_t choice = 0;                 ///< Which of the maker's choices it is.
  explicit operator bool() const { return static_cast<bool>(primitive); }
};

/// Bounded: what two generations of kMost did not ask for is dropped. Making a kernel costs some hundred times as much
/// as finding it.
/// @thread all members from any thread; two that ask for the same at once both make it.
class SharedPrimitives {
 public:
  static constexpr std::size_t kMost = 1024;
  std::shared_ptr<const MadeKernel> find_or_make(const KernelKey& key, const std::function<MadeKernel()>& make);

 private:
  using Map = std::unordered_map<KernelKey, std::shared_ptr<const MadeKernel>, planning::WordsHash>;
  void keep(const KernelKey& key, const std::shared_ptr<const MadeKernel>& made);  ///< With the mutex held.
  std::mutex mutex_;
  Map young_, old_;
};

}  // namespace tenon::inline v1::engine
