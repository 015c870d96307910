// SPDX-License-Identifier: Apache-2.0
// Records what each pass of a compilation did to the graph, and the graph after the pass.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/graph/model.hpp>
#include <tenon/graph/passes/observer.hpp>

#include <tenon/tools/tenon/shared/output_file.hpp>

namespace tenon::tool {

/// One pass, or the model before the passes (name "input").
struct PassChange {
  std::string pass;
  bool changed = false;
  std::size_t nodes = 0;                          ///< Nodes after the pass, without constants.
  std::map<std::string, std::size_t> gone, made;  ///< Nodes by type.
  std::string dot, svg;                           ///< Files written; empty if there are none.
};

/// Observes the passes of the process while it lives, and writes 00_input.dot, 01_fold_constants.dot, ... into `folder`
/// (empty: writes nothing). Nodes that a pass made are drawn green. Graphs that a pass did not change are not
/// written again.
class PassDump {
 public:
  /// @param files  Must outlive this. Written files are noted there, and no input is overwritten.
  /// @errors kPermissionDenied, kNotFound: the folder cannot be made
  PassDump(const std::filesystem::path& folder, CommandFiles& files);
  ~PassDump();
  /// Writes one more graph after those of the passes, "NN_runtime.dot": the steps that the device executes.
  void add_runtime(const Model& model, const std::string& title);
  /// Files of that graph; empty if there are none.
  const std::string& runtime_dot() const { return runtime_.dot; }
  const std::string& runtime_svg() const { return runtime_.svg; }
  /// Draws the files with Graphviz, if it is installed. @return Why some files were not drawn; empty if all were.
  std::string draw_all();
  const std::vector<PassChange>& changes() const { return changes_; }

 private:
  /// Nodes of a graph by friendly name, which identifies them across passes.
  using Names = std::map<std::string, std::string>;
  void see(const Model& model, const std::string& pass, bool changed);
  std::string write(const std::string& name, const std::string& dot);

  std::filesystem::path folder_;
  CommandFiles& files_;
  std::vector<PassChange> changes_;
  PassChange runtime_;
  Names before_;
  std::unique_ptr<pass::Observer> observer_;
};

}  // namespace tenon::tool
