// SPDX-License-Identifier: Apache-2.0
// The metrics, and how they are sampled.
#include <pthread.h>
#include <algorithm>
#include <new>

#include <tenon/drivers/npu/calls/metrics.hpp>

namespace tenon::npu {
namespace {

constexpr std::uint64_t kLine = 64;  ///< Bytes of one transfer.

std::uint64_t lines_of(std::uint64_t bytes) { return (bytes + kLine - 1) / kLine; }

constexpr MetricInfo kNoc{"NOC_noc", "Transfers of 64 bytes by copies, fills and arguments of graphs", "transfers",
                          ZET_METRIC_TYPE_EVENT,
                          [](const Counters& counted, std::uint64_t) { return lines_of(counted.moved_bytes); }};
constexpr MetricInfo kDma{"NOC_DMA", "Transfers of the DMA engine", "transfers", ZET_METRIC_TYPE_EVENT, kNoc.value};
constexpr MetricInfo kDma0{"NOC_DMA_00", "Transfers of the first of two DMA engines: half of all, rounded up",
                           "transfers", ZET_METRIC_TYPE_EVENT, [](const Counters& counted, std::uint64_t) {
                             return (lines_of(counted.moved_bytes) + 1) / 2;
                           }};
constexpr MetricInfo kDma1{"NOC_DMA_01", "Transfers of the second of two DMA engines: half of all, rounded up",
                           "transfers", ZET_METRIC_TYPE_EVENT, kDma0.value};
constexpr MetricInfo kRiscv{"L2C_Riscv", "Commands that were executed", "commands", ZET_METRIC_TYPE_EVENT,
                            [](const Counters& counted, std::uint64_t) { return counted.commands; }};
constexpr MetricInfo kShave{"L2C_Shave", "Graphs that were executed", "graphs", ZET_METRIC_TYPE_EVENT,
                            [](const Counters& counted, std::uint64_t) { return counted.graphs; }};
constexpr MetricInfo kTime{"NOC_timestamp", "Time of the report, by the clock of zeDeviceGetGlobalTimestamps", "ns",
                           ZET_METRIC_TYPE_TIMESTAMP, [](const Counters&, std::uint64_t now) { return now; }};

constexpr MetricInfo kOneEngine[] = {kNoc, kDma, kRiscv, kShave, kTime};
constexpr MetricInfo kTwoEngines[] = {kNoc, kDma0, kDma1, kRiscv, kShave, kTime};

}  // namespace

std::span<const MetricInfo> metrics_of(const Platform& platform) noexcept {
  return platform.number < 4000 ? std::span<const MetricInfo>(kOneEngine) : std::span<const MetricInfo>(kTwoEngines);
}

MetricReport report_since(Device& device, Counters* before, std::uint64_t time_ns) noexcept {
  const Counters now = device.activity().counters();
  const Counters counted{now.moved_bytes - before->moved_bytes, now.commands - before->commands,
                         now.graphs - before->graphs};
  *before = now;
  MetricReport report{};
  std::ranges::transform(metrics_of(device.platform()), report.begin(),
                         [&](const MetricInfo& each) { return each.value(counted, time_ns); });
  return report;
}

MetricGroup::MetricGroup(Device& owner) : device(owner) {
  const auto all = metrics();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Metric* metric = make_object<Metric>(all[i]);
    if (!metric) throw std::bad_alloc();
    handles[i] = metric->handle();
  }
}

void MetricQuery::begin() noexcept {
  const std::lock_guard lock(mutex_);
  before_ = group().device.activity().counters();
  is_done_ = false;
}

void MetricQuery::end() noexcept {
  const std::lock_guard lock(mutex_);
  report_ = report_since(group().device, &before_, now_ns());
  is_done_ = true;
}

void MetricQuery::reset() noexcept {
  const std::lock_guard lock(mutex_);
  is_done_ = false;
}

bool MetricQuery::read(MetricReport* report) const noexcept {
  const std::lock_guard lock(mutex_);
  *report = report_;
  return is_done_;
}

MetricStreamer::MetricStreamer(Ref<MetricGroup> group, Ref<Event> event, std::uint32_t notify_every,
                               std::uint64_t period_ns)
    : group_(std::move(group)),
      event_(std::move(event)),
      notify_every_(notify_every),
      period_ns_(std::max(period_ns, kMinPeriodNs)),
      before_(group_->device.activity().counters()),
      thread_(&MetricStreamer::sample, this) {}

MetricStreamer::~MetricStreamer() {
  is_over_.store(1);
  thread_.join();
}

void MetricStreamer::sample() {
  ::pthread_setname_np(::pthread_self(), "npu-metrics");
  std::uint64_t time_ns = now_ns();
  for (;;) {
    // A late thread makes up for its reports, so that each period has one; what was counted meanwhile is in the first.
    time_ns += period_ns_;
    if (const std::uint64_t kept_ns = kMaxReports * period_ns_; now_ns() > time_ns + kept_ns)
      time_ns = now_ns() - kept_ns;
    const std::uint64_t wait_ns = time_ns - std::min(time_ns, now_ns());
    if (is_over_.wait([](std::uint32_t over) { return over != 0; }, Deadline::in(wait_ns), 0)) return;
    const MetricReport report = report_since(group_->device, &before_, time_ns);
    bool is_due = false;
    try {
      const std::lock_guard lock(mutex_);
      if (reports_.size() == kMaxReports) reports_.pop_front();
      reports_.push_back(report);
      is_due = notify_every_ != 0 && reports_.size() >= notify_every_;
    } catch (...) {  // Without memory a report is lost.
    }
    if (is_due && event_) event_->signal(ZE_RESULT_SUCCESS, {now_ns(), now_ns()});
  }
}

std::size_t MetricStreamer::available() const noexcept {
  const std::lock_guard lock(mutex_);
  return reports_.size();
}

std::size_t MetricStreamer::take(std::span<MetricReport> reports) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(reports.size(), reports_.size());
  for (std::size_t i = 0; i < count; ++i) {
    reports[i] = reports_.front();
    reports_.pop_front();
  }
  return count;
}

}  // namespace tenon::npu
