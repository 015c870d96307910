// SPDX-License-Identifier: Apache-2.0
// A model as a picture: Graphviz' DOT, and SVG if dot is installed.
#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include <tenon/graph/model.hpp>

namespace tenon::tool {

/// Nodes with type, name and output shapes, joined along the data flow; constants are lines in their reader. Steps of an
/// executed model also have their kernels, layouts and bytes; reorders are gold, reference kernels pink.
/// @param highlighted  Friendly names of nodes to draw in colour: what a pass made.
std::string dot_of(const Model& model, const std::string& title, const std::set<std::string>& highlighted = {});

/// Whether `dot` is on the PATH and writes SVG, tried once.
bool can_draw();
/// Runs dot on a file. @return false if it failed or took longer than `limit` (it is then stopped): the layout of some
/// thousand nodes takes minutes.
bool draw(const std::filesystem::path& dot_file, const std::filesystem::path& svg_file, std::chrono::seconds limit);

}  // namespace tenon::tool
