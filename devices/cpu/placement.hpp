// SPDX-License-Identifier: Apache-2.0
// Settings of the CPU device for its threads, and settings that are accepted without effect.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <type_traits>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/devices/cpu/public/properties.hpp>
#include <tenon/devices/cpu/topology.hpp>
#include <tenon/engine/engine.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::cpu_device {

/// Each of these has an effect on compiled models; docs/properties.md describes it, device_test.cpp measures it.
struct Placement {
  bool pinning = false;      ///< Off by default: a pinned thread must wait if another process uses its CPU.
  bool reservation = false;  ///< Implies pinning.
  bool hyper_threading = true;
  hint::SchedulingCoreType core_type = hint::SchedulingCoreType::ANY_CORE;
  hint::Priority priority = hint::Priority::MEDIUM;
  bool flush_denormals = false;

  void declare(PropertyTable& table) {
    table.add_value(hint::enable_cpu_pinning, pinning);
    table.add_value(hint::enable_cpu_reservation, reservation);
    table.add_value(hint::enable_hyper_threading, hyper_threading);
    table.add_value(hint::scheduling_core_type, core_type);
    table.add_value(hint::model_priority, priority);
    table.add_value(intel_cpu::denormals_optimization, flush_denormals);
  }
  void describe(PropertyTable& table) const {
    table.add_constant(hint::enable_cpu_pinning, pinning || reservation);
    table.add_constant(hint::enable_cpu_reservation, reservation);
    table.add_constant(hint::enable_hyper_threading, hyper_threading);
    table.add_constant(hint::scheduling_core_type, core_type);
    table.add_constant(hint::model_priority, priority);
    table.add_constant(intel_cpu::denormals_optimization, flush_denormals);
  }

  /// The CPUs that a model compiled now may use.
  std::vector<int> cpus() const {
    const auto chosen = choose_cpus(read_topology(allowed_cpus()), hyper_threading, core_type);
    return Reservation::free_cpus(chosen);
  }
  /// The number of threads for them, within a container's quota.
  int cpu_count() const { return std::clamp(static_cast<int>(cpus().size()), 1, engine::Workers::available_cpus()); }

  /// @param first  Index of the stream's first thread among all threads of the model.
  engine::WorkerOptions workers(const std::vector<int>& cpus, int first, int threads) const {
    engine::WorkerOptions options;
    options.threads = threads;
    options.flush_denormals = flush_denormals;
    options.priority = priority == hint::Priority::LOW    ? engine::WorkerOptions::Priority::kLow
                       : priority == hint::Priority::HIGH ? engine::WorkerOptions::Priority::kHigh
                                                          : engine::WorkerOptions::Priority::kNormal;
    if ((pinning || reservation) && !cpus.empty())
      for (int i = 0; i < threads; ++i) options.cpus.push_back(cpus[static_cast<std::size_t>(first + i) % cpus.size()]);
    return options;
  }
};

/// Accepted because programs set them; stored and returned without effect. docs/properties.md gives the reasons.
struct Inert {
  std::set<hint::ModelDistributionPolicy> distribution;
  bool tensor_parallel = false;
  float sparse_rate = 1.f;
  intel_cpu::TbbPartitioner partitioner = intel_cpu::TbbPartitioner::NONE;
  log::Level log_level = log::Level::NO;

  template <typename Visit>
  void each(Visit visit) {
    visit(hint::model_distribution_policy, distribution);
    visit(intel_cpu::enable_tensor_parallel, tensor_parallel);
    visit(intel_cpu::sparse_weights_decompression_rate, sparse_rate);
    visit(intel_cpu::tbb_partitioner, partitioner);
    visit(log::level, log_level);
  }
  void declare(PropertyTable& table) {
    each([&](const auto& property, auto& value) {
      using T = std::decay_t<decltype(value)>;
      table.add(
          property, [&value] { return Any(value); },
          [&value](const Any& wanted, bool apply) {
            T parsed = wanted.as<T>();
            check(parsed, wanted);
            if (apply) value = std::move(parsed);
          });
    });
  }
  template <typename T>
  static void check(const T& value, const Any& given) {
    if constexpr (std::is_same_v<T, float>) {
      if (!(value >= 0 && value <= 1))
        throw Error(Code::kInvalidArgument, "\"" + given.to_text() + "\" is not a rate of 0 to 1");
    }
  }
  void describe(PropertyTable& table) {
    each([&](const auto& property, auto& value) { table.add_constant(property, value); });
  }
};

}  // namespace tenon::inline v1::cpu_device
