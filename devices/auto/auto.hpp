// SPDX-License-Identifier: Apache-2.0
// AUTO: runs a model on the best device, and on the CPU until that device is ready.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/any.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/devices/auto/public/properties.hpp>
#include <tenon/graph/model.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/runtime/device/device_host.hpp>
#include <tenon/runtime/device/process_end.hpp>
#include <tenon/runtime/device/property_table.hpp>
#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::auto_device {

inline constexpr const char* kName = "AUTO";

struct Config {
  std::string priorities;  ///< "GPU,CPU"; "-CPU" excludes a device; empty: all devices.
  bool startup_fallback = true;
  bool runtime_fallback = true;
  hint::Priority priority = hint::Priority::MEDIUM;
  hint::PerformanceMode mode = hint::PerformanceMode::LATENCY;
  intel_auto::SchedulePolicy policy = intel_auto::SchedulePolicy::DEFAULT;
  bool spreads_throughput = false;
  bool device_bind_buffer = false;
  std::map<std::string, unsigned> utilization_threshold;
  intel_auto::PerfCurveTable perf_curves;
  std::string low_power_device;
  /// Settings of the device, which every member gets.
  AnyMap members;

  /// Devices of one name are alike: none of them waits until another has its share.
  bool takes_turns() const {
    return mode == hint::PerformanceMode::THROUGHPUT || policy == intel_auto::SchedulePolicy::ROUND_ROBIN;
  }
  void declare(PropertyTable& table) {
    table.add_value(device::priorities, priorities);
    table.add_value(intel_auto::enable_startup_fallback, startup_fallback);
    table.add_value(intel_auto::enable_runtime_fallback, runtime_fallback);
    table.add_value(hint::model_priority, priority);
    table.add_value(hint::performance_mode, mode);
    table.add_value(intel_auto::schedule_policy, policy);
    table.add_value(auto_device::spreads_throughput, spreads_throughput);
    table.add_value(intel_auto::device_bind_buffer, device_bind_buffer);
    table.add_value(intel_auto::devices_utilization_threshold, utilization_threshold);
    table.add_value(intel_auto::perf_curve_table, perf_curves);
    table.add_value(intel_auto::low_power_device, low_power_device);
    add_for_members(table, enable_profiling, false);
    add_for_members(table, hint::num_requests, 0U);
    add_for_members(table, hint::execution_mode, hint::ExecutionMode::PERFORMANCE);
    add_for_members(table, log::level, log::Level::NO);
  }

 private:
  /// A setting for the members; `unset` where there is none.
  template <typename T>
  void add_for_members(PropertyTable& table, const Property<T>& property, T unset) {
    table.add(
        property,
        [this, property, unset] {
          const auto given = members.find(property.name());
          return given == members.end() ? Any(unset) : given->second;
        },
        [this, property](const Any& given, bool apply) {
          T parsed = given.as<T>();
          if (apply) members[property.name()] = Any(std::move(parsed));
        });
  }
};

/// Counts the models per device and priority, so that a model of high priority has its device to itself while another
/// device can take the rest. @thread any.
class Occupancy {
 public:
  void take(const std::string& device, hint::Priority priority);
  void leave(const std::string& device, hint::Priority priority);
  /// Sorts devices without a model of higher priority first; otherwise keeps the order.
  std::vector<std::string> order(std::vector<std::string> devices, hint::Priority priority) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<hint::Priority, int>> models_;
};

/// A model compiled, or being compiled, for a device.
struct Target {
  std::string device;
  CompiledModel model;
  std::shared_ptr<CompiledModelImpl> impl;
};

/// The devices still to try, and the one in use. Shared by the compiled model and its background thread.
/// @thread any.
class Choice final : public process_end::Work, public std::enable_shared_from_this<Choice> {
 public:
  Choice(std::shared_ptr<DeviceHost> host, std::shared_ptr<const Model> model, std::vector<std::string> candidates,
         AnyMap properties, Config config, std::shared_ptr<Occupancy> occupancy);
  ~Choice();

  /// Compiles until a device can run. With `helper`, uses it at once and compiles for the first candidate meanwhile.
  /// @errors kUnavailable with each device's reason.
  void start(const std::string& helper);
  /// Devices to move to, in this order, when the one in use fails during an inference; the one in use is left out.
  void go_on_with(const std::vector<std::string>& others);
  std::shared_ptr<const Target> current() const;
  /// Changes with current(); cheap enough to check before every inference.
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  /// Stream count of current(), without a lock.
  std::size_t stream_count() const noexcept { return streams_.load(std::memory_order_relaxed); }
  /// `failed` failed during an inference: moves to the next device. @return false if none is left.
  bool give_up(const Target& failed, const std::string& why);
  /// True while the helper runs in place of a device that still compiles.
  bool is_waiting() const;
  const Config& config() const { return config_; }

  // process_end::Work. A compilation in the background is not wanted any more: it is cancelled at once.
  bool settle(Deadline deadline) noexcept override;
  void cancel() noexcept override { stop_ = true; }

 private:
  /// The first candidate from `next_` on that compiles; null if none does.
  std::shared_ptr<const Target> compile_next();
  std::shared_ptr<const Target> compile(const std::string& device);
  void use(std::shared_ptr<const Target> target);
  /// Compiles for the next device and moves to it.
  void follow_up();

  std::shared_ptr<DeviceHost> host_;
  std::shared_ptr<const Model> model_;
  std::vector<std::string> candidates_;
  AnyMap properties_;
  Config config_;
  std::shared_ptr<Occupancy> occupancy_;
  mutable std::mutex mutex_;
  std::mutex compiling_;
  std::size_t next_ = 0;
  std::string reasons_;
  std::string helper_;
  std::shared_ptr<const Target> current_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::size_t> streams_{0};
  std::atomic<bool> waiting_{false};  ///< The background thread runs.
  std::atomic<bool> stop_{false};
  std::thread background_;
};

class AutoModel final : public CompiledModelImpl, public std::enable_shared_from_this<AutoModel> {
 public:
  /// @param choices  One, or one for each device over which requests are spread.
  AutoModel(const Model& model, std::vector<std::shared_ptr<Choice>> choices);

  std::unique_ptr<InferRequestImpl> create_request() override;
  std::size_t stream_count() const override;
  std::optional<Refusal> refuses_input(std::size_t index, const Tensor& tensor) const override;
  Requirements requirements() const override;
  Any get_property(const std::string& name) const override;
  void set_property(const AnyMap& properties) override;
  /// That of the device whose inference ended last; before the first one, of the device in use.
  std::shared_ptr<const Model> runtime_model() const override;
  void export_model(std::ostream& stream) const override;
  /// An inference of this choice ended on another device than the ones before it.
  void note_ran(const Choice& choice, std::shared_ptr<const Target> target);

 private:
  std::vector<std::string> execution() const;
  std::vector<std::shared_ptr<Choice>> choices_;
  std::atomic<std::size_t> next_{0};
  mutable std::mutex ran_mutex_;
  std::shared_ptr<const Target> ran_;
  PropertyTable table_{"compiled model of AUTO"};
};

}  // namespace tenon::inline v1::auto_device
