// SPDX-License-Identifier: Apache-2.0
// Which CPUs this process may use, and what kind each is; which of them some model has reserved.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <tenon/runtime/properties.hpp>

namespace tenon::inline v1::cpu_device {

struct CpuInfo {
  int id = 0;
  int core = 0;  ///< The lowest id among the CPUs that share this physical core.
  bool efficient = false;
};

/// The CPUs of `ids` as the kernel describes them under `root`; a core of its own for each where it does not.
std::vector<CpuInfo> read_topology(const std::vector<int>& ids, const std::filesystem::path& root = "/sys/devices");

/// CPUs that the calling thread may run on.
std::vector<int> allowed_cpus();

/// Ids of the CPUs to compute on, in the order in which threads take them: one of each physical core, then, when
/// `hyper_threading`, their siblings; fast cores before efficient ones. A type that the machine lacks selects nothing
/// away.
std::vector<int> choose_cpus(const std::vector<CpuInfo>& all, bool hyper_threading, hint::SchedulingCoreType type);

/// CPUs that one model keeps to itself. Others of this process that are compiled meanwhile do without them.
/// @thread all members from any thread.
class Reservation {
 public:
  /// Takes the first `count` of `cpus` out of what free_cpus() leaves to others.
  Reservation(const std::vector<int>& cpus, std::size_t count);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// `cpus` without the reserved ones; all of them when none would be left, because every model must run somewhere.
  static std::vector<int> free_cpus(const std::vector<int>& cpus);

 private:
  std::vector<int> mine_;
};

}  // namespace tenon::inline v1::cpu_device
