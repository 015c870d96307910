// SPDX-License-Identifier: Apache-2.0
// CPUs: kinds, selection, reservation.
#include <algorithm>
#include <fstream>
#include <mutex>
#include <set>

#include <tenon/core/platform/processors.hpp>
#include <tenon/devices/cpu/topology.hpp>

namespace tenon::inline v1::cpu_device {
namespace {

/// Parses "0-3,8"; empty if the file is missing or has another format.
std::vector<int> read_list(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<int> ids;
  int first = 0;
  while (in >> first) {
    int last = first;
    if (in.peek() == '-') {
      in.get();
      if (!(in >> last)) return {};
    }
    if (first < 0 || last < first || last - first > platform::ProcessorSet::kMost) return {};
    for (int id = first; id <= last; ++id) ids.push_back(id);
    if (in.peek() == ',') in.get();
  }
  return ids;
}

struct Reserved {
  std::mutex mutex;
  std::set<int> ids;
};
Reserved& reserved() {
  static auto* instance = new Reserved;  // Models may outlive static destructors.
  return *instance;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> ids;
  const platform::ProcessorSet allowed = platform::processors_of_thread();
  for (int id = 0; id < platform::ProcessorSet::kMost; ++id)
    if (allowed.contains(id)) ids.push_back(id);
  return ids;
}

std::vector<CpuInfo> read_topology(const std::vector<int>& ids, const std::filesystem::path& root) {
  // Hybrid processors list efficient cores under the performance monitor's name.
  const std::vector<int> efficient = read_list(root / "cpu_atom" / "cpus");
  std::vector<CpuInfo> infos;
  for (const int id : ids) {
    const auto siblings =
        read_list(root / "system" / "cpu" / ("cpu" + std::to_string(id)) / "topology" / "thread_siblings_list");
    infos.push_back({id, siblings.empty() ? id : *std::min_element(siblings.begin(), siblings.end()),
                     std::find(efficient.begin(), efficient.end(), id) != efficient.end()});
  }
  return infos;
}

std::vector<int> choose_cpus(const std::vector<CpuInfo>& all, bool hyper_threading, hint::SchedulingCoreType type) {
  std::vector<CpuInfo> left = all;
  if (type != hint::SchedulingCoreType::ANY_CORE) {
    const bool wants_efficient = type == hint::SchedulingCoreType::ECORE_ONLY;
    std::erase_if(left, [&](const CpuInfo& cpu) { return cpu.efficient != wants_efficient; });
    if (left.empty()) left = all;
  }
  std::stable_sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.efficient < b.efficient; });
  std::vector<int> first, siblings;
  std::set<int> cores;
  for (const CpuInfo& cpu : left) (cores.insert(cpu.core).second ? first : siblings).push_back(cpu.id);
  if (hyper_threading) first.insert(first.end(), siblings.begin(), siblings.end());
  return first;
}

Reservation::Reservation(const std::vector<int>& cpus, std::size_t count)
    : mine_(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(std::min(count, cpus.size()))) {
  std::lock_guard lock(reserved().mutex);
  reserved().ids.insert(mine_.begin(), mine_.end());
}

Reservation::~Reservation() {
  std::lock_guard lock(reserved().mutex);
  for (const int id : mine_) reserved().ids.erase(id);
}

std::vector<int> Reservation::free_cpus(const std::vector<int>& cpus) {
  std::vector<int> free = cpus;
  std::lock_guard lock(reserved().mutex);
  std::erase_if(free, [](int id) { return reserved().ids.count(id) > 0; });
  return free.empty() ? cpus : free;
}

}  // namespace tenon::inline v1::cpu_device
