// SPDX-License-Identifier: Apache-2.0
// Measurements of runs, and how clients query them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/drivers/npu/compiler/run.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/run/graph.hpp>  // IWYU pragma: export

namespace tenon::npu {

/// A slot of a pool; the last run that uses it stores its times here.
/// @thread all members from any thread.
class ProfilingQuery {
 public:
  /// @param paced  The program whose estimated times take the place of those measured; null: none.
  void record(const compiler::Profile& profile, std::shared_ptr<const compiler::Program> paced);
  ze_result_t get_data(abi::ProfilingType type, std::uint32_t* size, std::uint8_t* data) const;

 private:
  mutable std::mutex mutex_;
  compiler::Profile profile_;
  std::shared_ptr<const compiler::Program> paced_;
};

class ProfilingPool final : public Object {
 public:
  using Handle = abi::ProfilingPoolHandle;
  static constexpr Kind kKind = Kind::kProfilingPool;
  explicit ProfilingPool(std::uint32_t count);
  /// Null beyond the pool's size.
  std::shared_ptr<ProfilingQuery> query(std::uint32_t index) const;

 private:
  std::vector<std::shared_ptr<ProfilingQuery>> queries_;
};

class ProfilingQueryObject final : public Object {
 public:
  using Handle = abi::ProfilingQueryHandle;
  static constexpr Kind kKind = Kind::kProfilingQuery;
  explicit ProfilingQueryObject(std::shared_ptr<ProfilingQuery> given) : query(std::move(given)) {}
  const std::shared_ptr<ProfilingQuery> query;
};

}  // namespace tenon::npu
