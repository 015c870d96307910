// SPDX-License-Identifier: Apache-2.0
// Kernels of one device: their texts, and the programs that the driver builds of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <tenon/core/ref_counted.hpp>
#include <tenon/devices/gpu/native.hpp>
#include <tenon/graph/limits.hpp>
#include <tenon/store/content_hash.hpp>

namespace tenon::inline v1::gpu_device {

/// A kernel's text. Equal texts have equal names, so that a kernel is built once, whatever plans use it.
struct KernelText {
  std::string kind;  ///< "map", "matmul": for people.
  std::string name;  ///< The function's.
  std::string text;  ///< All of it, with the function called `name`.
};

/// Programs are built when they are first needed, several at a time, and kept: here, and in a folder for the next
/// process if there is one.
/// @thread all members from any thread.
class KernelLibrary {
 public:
  /// @param folder  Empty: nothing is kept on disk.
  KernelLibrary(Ref<client::Native> native, const std::filesystem::path& folder);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  /// Builds those that are not there yet. @errors kInternal: the compiler refused a text; its log is in the message.
  /// kDeadlineExceeded: `time` is over.
  void build(std::span<const std::shared_ptr<const KernelText>> texts, const TimeLimit& time);
  /// A kernel object of its own, since arguments belong to the object. @pre build() was called for it.
  client::Handle<cl_kernel> make(const KernelText& text) const;

  struct Counts {
    std::size_t built = 0;   ///< Programs that the driver compiled...
    std::size_t loaded = 0;  ///< ...and those that came from the folder.
  };
  Counts counts() const;

 private:
  using Texts = std::vector<std::shared_ptr<const KernelText>>;
  struct Built {
    client::Handle<cl_program> program;
    bool was_loaded = false;
  };
  Built build_program(const Texts& texts) const;
  client::Handle<cl_program> load(const store::ContentHash& key) const;
  void keep(const store::ContentHash& key, cl_program program) const;
  store::ContentHash key_of(const std::string& source) const;

  const Ref<client::Native> native_;
  const std::filesystem::path folder_;
  std::string options_, device_key_;
  mutable std::mutex mutex_;
  std::vector<client::Handle<cl_program>> programs_;
  std::map<std::string, cl_program, std::less<>> by_name_;
  Counts counts_;
};

}  // namespace tenon::inline v1::gpu_device
