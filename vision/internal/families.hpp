// SPDX-License-Identifier: Apache-2.0
// The families of decoders, one source in decoders/ each; decoder_types.cpp puts them into the table in this order.
#pragma once

#include <string>
#include <vector>

#include <tenon/vision/decoder_types.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

/// Why modules of decoders are not there; empty if all are.
std::string absent_decoders();

std::vector<DecoderType> yolo_row_types();
std::vector<DecoderType> ssd_types();
std::vector<DecoderType> class_types();
std::vector<DecoderType> query_types();
std::vector<DecoderType> grid_types();
std::vector<DecoderType> face_types();
std::vector<DecoderType> text_box_types();
std::vector<DecoderType> mask_types();
std::vector<DecoderType> point_types();
std::vector<DecoderType> text_types();
std::vector<DecoderType> anomaly_types();
std::vector<DecoderType> value_types();
std::vector<DecoderType> hierarchy_types();
std::vector<DecoderType> box_list_types();

}  // namespace vision
}  // namespace v1
}  // namespace tenon
