// SPDX-License-Identifier: Apache-2.0
// A device's metric group, its metrics, and the objects that record them: queries in command lists, and streamers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <thread>

#include <level_zero/zet_api.h>

#include <tenon/drivers/npu/objects/device.hpp>
#include <tenon/drivers/npu/objects/object.hpp>
#include <tenon/drivers/npu/objects/sync.hpp>

namespace tenon::npu {

/// One metric, with the names of hardware's counters, so that tools find them; the descriptions say what is counted here.
struct MetricInfo {
  const char* name;
  const char* description;
  const char* units;
  zet_metric_type_t type;
  /// From the counters over the report's period, and its time.
  std::uint64_t (*value)(const Counters& counted, std::uint64_t now_ns);
};

inline constexpr std::size_t kMaxMetrics = 6;
/// One value per metric of the group, in its order.
using MetricReport = std::array<std::uint64_t, kMaxMetrics>;

/// The metrics of a platform: one group, "NOC".
std::span<const MetricInfo> metrics_of(const Platform& platform) noexcept;

/// The report for the time since `before`. @param before  Replaced by the device's counters now. @param time_ns  What it says of its time.
MetricReport report_since(Device& device, Counters* before, std::uint64_t time_ns) noexcept;

class MetricGroup final : public Object {
 public:
  using Handle = zet_metric_group_handle_t;
  static constexpr Kind kKind = Kind::kMetricGroup;
  explicit MetricGroup(Device& owner);
  zet_metric_group_handle_t handle() const noexcept { return static_cast<zet_metric_group_handle_t>(Object::handle()); }
  std::span<const MetricInfo> metrics() const noexcept { return metrics_of(device.platform()); }
  Device& device;
  std::array<zet_metric_handle_t, kMaxMetrics> handles{};
};

class Metric final : public Object {
 public:
  using Handle = zet_metric_handle_t;
  static constexpr Kind kKind = Kind::kMetric;
  explicit Metric(const MetricInfo& given) : info(given) {}
  zet_metric_handle_t handle() const noexcept { return static_cast<zet_metric_handle_t>(Object::handle()); }
  const MetricInfo& info;
};

class MetricPool final : public Object {
 public:
  using Handle = zet_metric_query_pool_handle_t;
  static constexpr Kind kKind = Kind::kMetricPool;
  MetricPool(Ref<MetricGroup> given, std::uint32_t size) : group(std::move(given)), count(size) {}
  const Ref<MetricGroup> group;
  const std::uint32_t count;
};

/// What was counted between two commands of lists.
class MetricQuery final : public Object {
 public:
  using Handle = zet_metric_query_handle_t;
  static constexpr Kind kKind = Kind::kMetricQuery;
  explicit MetricQuery(Ref<MetricPool> pool) : pool_(std::move(pool)) {}
  void begin() noexcept;
  void end() noexcept;
  void reset() noexcept;
  const MetricGroup& group() const noexcept { return *pool_->group; }
  /// @return false: its end has not been executed.
  bool read(MetricReport* report) const noexcept;

 private:
  const Ref<MetricPool> pool_;
  mutable std::mutex mutex_;
  Counters before_;
  MetricReport report_{};
  bool is_done_ = false;
};

/// A report for each period since it was opened, from a thread of its own. @thread all members from any thread.
class MetricStreamer final : public Object {
 public:
  using Handle = zet_metric_streamer_handle_t;
  static constexpr Kind kKind = Kind::kMetricStreamer;
  /// Reports that are kept; older ones are dropped.
  static constexpr std::size_t kMaxReports = 65'536;
  static constexpr std::uint64_t kMinPeriodNs = 100'000;

  /// @param notify_every  Number of unread reports at which `event` is signalled; 0: never.
  MetricStreamer(Ref<MetricGroup> group, Ref<Event> event, std::uint32_t notify_every, std::uint64_t period_ns);
  ~MetricStreamer() override;
  const MetricGroup& group() const noexcept { return *group_; }
  std::size_t available() const noexcept;
  /// Takes the oldest reports. @return how many.
  std::size_t take(std::span<MetricReport> reports) noexcept;

 private:
  void sample();
  const Ref<MetricGroup> group_;
  const Ref<Event> event_;
  const std::uint32_t notify_every_;
  const std::uint64_t period_ns_;
  Counters before_;  ///< At the last report, or when it was opened.
  mutable std::mutex mutex_;
  std::deque<MetricReport> reports_;
  Futex is_over_;
  std::thread thread_;
};

}  // namespace tenon::npu
