// SPDX-License-Identifier: Apache-2.0
// The CPUs that this process may use, their kinds, and their reservation by models.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::cpu_device {

struct CpuInfo {
  int id = 0;
  int core = 0;  ///< Lowest CPU id that shares this physical core.
  bool efficient = false;
};

/// Describes the CPUs `ids` from the kernel's files in `root`; without them each CPU counts as a core.
std::vector<CpuInfo> read_topology(const std::vector<int>& ids, const std::filesystem::path& root = "/sys/devices");

/// CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

/// Ids of the CPUs to compute on, in the order in which threads take them: one per physical core, then,
/// with `hyper_threading`, their siblings; fast cores before efficient ones. A core type that the
/// machine lacks is ignored.
std::vector<int> choose_cpus(const std::vector<CpuInfo>& all, bool hyper_threading, hint::SchedulingCoreType type);

/// CPUs reserved by one model. Models that this process compiles meanwhile do not use them.
/// @thread all members from any thread.
class Reservation {
 public:
  /// Removes the first `count` of `cpus` from free_cpus().
  Reservation(const std::vector<int>& cpus, std::size_t count);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// `cpus` without the reserved ones; all of them if none would be left, since every model must run somewhere.
  static std::vector<int> free_cpus(const std::vector<int>& cpus);

 private:
  std::vector<int> mine_;
};

}  // namespace tenon::inline v1::cpu_device
