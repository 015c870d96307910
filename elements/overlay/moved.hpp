// SPDX-License-Identifier: Apache-2.0
// What is known of a picture, as known of another that shows it smaller and elsewhere.
#pragma once

#include <functional>

#include <tenon/core/metadata.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace overlay {

/// Where a point of one picture lies in the other, in pixels.
struct Placement {
  std::function<double(double)> x, y;
};

/// Adds to `into` the objects of `known`, masks and points at their new places, with all texts and tensors that belong to objects. Texts and tensors of
/// the whole picture are left out: they say nothing of the other one.
void add_moved(const metadata::Collection& known, const Placement& to, metadata::Collection& into);

}  // namespace overlay
}  // namespace elements
}  // namespace v1
}  // namespace tenon
