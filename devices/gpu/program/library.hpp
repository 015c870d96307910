// SPDX-License-Identifier: Apache-2.0
// Kernels of one device: their texts, and the programs that the driver builds of them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/ref_counted.hpp>
#include <tenon/devices/gpu/native.hpp>
#include <tenon/devices/gpu/twin/twin.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {

class Recipe;

/// A kernel's text. Equal texts have equal names, so that a kernel is built once, whatever plans use it.
struct KernelText {
  std::string kind;  ///< "map", "matmul": for people.
  std::string name;  ///< The function's.
  std::string text;  ///< All of it, with the function called `name`.
  /// Kernels with the same can be parts of one (KernelTexts::joined()); empty: this one cannot.
  std::string joins{};
  std::shared_ptr<const Recipe> recipe{};  ///< What the text is made of, if it can be such a part.
  bool has_sets =
      false;  ///< It becomes one with others of the same text, with a set of arguments for each (Recipe::in_sets()).
};

/// A program with some kernels, which lives as long as a plan has launches of them.
class Program {
 public:
  explicit Program(client::Handle<cl_program> program) : program_(std::move(program)) {}
  /// A kernel object of its own, since arguments belong to the object. @errors those of clCreateKernel.
  client::Handle<cl_kernel> make(const KernelText& text) const;
  /// Gives the device's twin the program, if it takes it. @cost the first time, the twin's compilation.
  void bring(const Twin& twin) const;
  /// The kernel as the device's twin has it. @param local_bytes  See TwinModule::find(). @return null: the twin does not take the program,
  /// or the kernel with this. @cost that of bring().
  TwinFunction twin_function(const Twin& twin, const KernelText& text, std::size_t local_bytes) const;
  bool was_brought() const noexcept { return was_brought_.load(std::memory_order_acquire); }

 private:
  client::Handle<cl_program> program_;
  mutable std::once_flag twin_once_;
  mutable std::atomic<bool> was_brought_{false};
  mutable std::shared_ptr<const TwinModule> twin_module_;
};

/// Kernel objects that no request has at the moment, for the next one: for a new one some drivers read the whole program again
/// (Intel's for CPUs, 2023.2: 0.1 to 1 ms). @thread all members from any thread.
class IdleKernels {
 public:
  /// Empty: there is none.
  client::Handle<cl_kernel> take(const KernelText& text);
  /// @param kernel  Which no command and no argument needs any more.
  void give_back(const KernelText& text, client::Handle<cl_kernel> kernel) noexcept;

 private:
  static constexpr std::size_t kMostOfOne = 32;
  std::mutex mutex_;
  std::map<std::string, std::vector<client::Handle<cl_kernel>>, std::less<>> by_name_;
};

/// The programs of one cl_context: built when they are first needed, several at a time; shared by all models, and kept in
/// a folder for the next process.
/// @thread all members from any thread.
class KernelLibrary {
 public:
  explicit KernelLibrary(Ref<client::Native> native);
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  using Texts = std::vector<std::shared_ptr<const KernelText>>;
  /// The program of each text; those that are not there yet are built.
  /// @param folder  Empty: nothing is kept on disk.
  /// @param most_threads  That build at the same time; 0: as many as there are CPUs.
  /// @errors kInternal: the compiler refused a text; its log is in the message. kDeadlineExceeded: `time` is over.
  /// kCancelled: it is not wanted any more (CancellationScope). Programs that a driver has begun, it ends; others are not begun.
  std::vector<std::shared_ptr<const Program>> build(const Texts& texts, const std::filesystem::path& folder,
                                                    const TimeLimit& time, std::int32_t most_threads = 0);

  using Until = std::chrono::steady_clock::time_point;
  /// A program for each text, of the caller's own: to be measured, and not kept. Null where the compiler refused it, or where it was
  /// not begun, because there was too little time.
  /// @param longest  That a compilation took so far; none is begun that would end after `until` if it took as long.
  /// @errors kCancelled, as build().
  std::vector<std::shared_ptr<const Program>> build_apart(const Texts& texts, Until until,
                                                          std::chrono::nanoseconds& longest,
                                                          std::int32_t most_threads = 0) const;

  /// Brings these programs to the twin, several at a time, unless they are there.
  static void bring(const Twin& twin, const std::vector<std::shared_ptr<const Program>>& programs,
                    std::int32_t most_threads);

  /// What programs of one device and driver have in common.
  const std::string& device_key() const { return device_key_; }

  struct Counts {
    std::size_t built = 0;   ///< Programs that the driver compiled...
    std::size_t loaded = 0;  ///< ...and those that came from a folder.
  };
  Counts counts() const;

 private:
  struct Built {
    client::Handle<cl_program> program;
    bool was_loaded = false;
  };
  /// So many programs that were used last are kept without a plan that has them, since models are often compiled again.
  static constexpr std::size_t kKept = 64;
  /// In groups of a few, those that are not known. @param threads  That build them.
  std::vector<Texts> unknown(const Texts& texts, std::size_t threads) const;
  /// @errors those of from_source().
  client::Handle<cl_program> compile(const Texts& texts, const std::string& source) const;
  Built build_program(const Texts& texts, const std::filesystem::path& folder) const;
  client::Handle<cl_program> load(const store::ContentHash& key, const std::filesystem::path& folder) const;
  /// @return none if the driver does not take it.
  client::Handle<cl_program> from_binary(const unsigned char* binary, std::size_t size) const;
  /// @errors kInternal: it does not compile; the message has the driver's log.
  client::Handle<cl_program> from_source(const Texts& texts, const std::string& source,
                                         const std::string& options) const;
  void keep(const store::ContentHash& key, const std::filesystem::path& folder, cl_program program) const;
  store::ContentHash key_of(const std::string& source) const;

  const Ref<client::Native> native_;
  std::string options_, device_key_;
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Program>, std::less<>> by_name_;
  std::list<std::shared_ptr<const Program>> recent_;  ///< The latest first.
  Counts counts_;
};

}  // namespace tenon::inline v1::gpu_device
