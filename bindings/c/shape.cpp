// SPDX-License-Identifier: Apache-2.0
// Shapes as handles and as arrays.
#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {

Shape shape_of(std::size_t rank, const std::size_t* extents, const char* name) {
  if (rank > TENON_MAX_RANK)
    refuse("rank " + std::to_string(rank) + " is above TENON_MAX_RANK (" + std::to_string(TENON_MAX_RANK) + ")");
  required_array(extents, rank, name);
  return Shape(extents, extents + rank);
}

namespace {

Dimension dimension_of(const tenon_dimension_t& from) { return Dimension(from.min, from.max); }

/// Checks the rank of a partial shape before an array is allocated.
std::size_t checked_rank(std::size_t rank) {
  constexpr std::size_t kMost = 64;
  if (rank > kMost) refuse("rank " + std::to_string(rank) + " is above " + std::to_string(kMost));
  return rank;
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;
using tenon::PartialShape;

tenon_status_t tenon_partial_shape_create(size_t rank, const tenon_dimension_t* dimensions,
                                          tenon_partial_shape_t** out) {
  return make(out, [&] {
    required_array(dimensions, checked_rank(rank), "dimensions");
    std::vector<tenon::Dimension> result;
    for (size_t i = 0; i < rank; ++i) result.push_back(dimension_of(dimensions[i]));
    return PartialShape(std::move(result));
  });
}
tenon_status_t tenon_partial_shape_create_static(size_t rank, const size_t* shape, tenon_partial_shape_t** out) {
  return make(out, [&] {
    required_array(shape, checked_rank(rank), "shape");
    std::vector<tenon::Dimension> result;
    for (size_t i = 0; i < rank; ++i) {
      if (shape[i] > static_cast<size_t>(INT64_MAX)) refuse("shape[" + std::to_string(i) + "] is too large");
      result.emplace_back(static_cast<int64_t>(shape[i]));
    }
    return PartialShape(std::move(result));
  });
}
tenon_status_t tenon_partial_shape_create_dynamic(tenon_partial_shape_t** out) {
  return make(out, [] { return PartialShape::dynamic(); });
}
tenon_status_t tenon_partial_shape_parse(const char* text, tenon_partial_shape_t** out) {
  return make(out, [&] { return PartialShape(required(text, "text")); });
}
int64_t tenon_partial_shape_rank(const tenon_partial_shape_t* shape) {
  return ask(shape, int64_t{-1}, [](const tenon_partial_shape& held) {
    return held.value.rank().is_static() ? held.value.rank().get_length() : -1;
  });
}
tenon_status_t tenon_partial_shape_dimension(const tenon_partial_shape_t* shape, size_t axis, tenon_dimension_t* out) {
  return give(out, [&] {
    const PartialShape& value = checked(shape, "shape").value;
    if (axis >= value.size()) refuse_past_end("axis", axis, value.size());
    return tenon_dimension_t{value[axis].get_min_length(), value[axis].get_max_length()};
  });
}
bool tenon_partial_shape_is_dynamic(const tenon_partial_shape_t* shape) {
  return ask(shape, false, [](const tenon_partial_shape& held) { return held.value.is_dynamic(); });
}
tenon_status_t tenon_partial_shape_to_shape(const tenon_partial_shape_t* shape, size_t* out) {
  return run([&] {
    const PartialShape& value = checked(shape, "shape").value;
    const tenon::Shape known = value.to_shape();
    required_array(out, known.size(), "out");
    std::copy(known.begin(), known.end(), out);
  });
}
tenon_status_t tenon_partial_shape_to_text(const tenon_partial_shape_t* shape, char** out) {
  return give_text(out, [&] { return checked(shape, "shape").value.to_string(); });
}
void tenon_partial_shape_free(tenon_partial_shape_t* shape) { free_handle(shape); }
