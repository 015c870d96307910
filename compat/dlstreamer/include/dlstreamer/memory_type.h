// SPDX-License-Identifier: Apache-2.0
// Kinds of memory by the names of DL Streamer, and the checked cast of shared pointers.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>

namespace dlstreamer {

enum class MemoryType {
  Any = 0,
  CPU = 0x1,
  USM = 0x2,
  DMA = 0x10,
  OpenCL = 0x20,
  VAAPI = 0x40,
  GST = 0x80,
  FFmpeg = 0x100,
  OpenCV = 0x200,
  OpenCVUMat = 0x400,
  D3D11 = 0x800,
  OpenVINO = 0x8000,
  PyTorch = 0x10000,
  TensorFlow = 0x20000,
  VA = 0x40000,
};

namespace detail {

struct MemoryTypeName {
  MemoryType type;
  const char* name;
};
inline constexpr MemoryTypeName kMemoryTypes[] = {
    {MemoryType::Any, "Any"},         {MemoryType::CPU, "System"},
    {MemoryType::USM, "USM"},         {MemoryType::DMA, "DMABuf"},
    {MemoryType::OpenCL, "OpenCL"},   {MemoryType::VAAPI, "VASurface"},
    {MemoryType::GST, "GStreamer"},   {MemoryType::FFmpeg, "FFmpeg"},
    {MemoryType::OpenCV, "OpenCV"},   {MemoryType::OpenCVUMat, "OpenCVUMat"},
    {MemoryType::D3D11, "D3D11"},     {MemoryType::OpenVINO, "OpenVINO"},
    {MemoryType::PyTorch, "PyTorch"}, {MemoryType::TensorFlow, "TensorFlow"},
    {MemoryType::VA, "VAMemory"},
};

}  // namespace detail

/// "VASurface": the name that caps and parameters use.
inline const char* memory_type_to_string(MemoryType type) {
  for (const detail::MemoryTypeName& row : detail::kMemoryTypes)
    if (row.type == type) return row.name;
  return "Unknown";
}

/// @errors std::runtime_error: no such name.
inline MemoryType memory_type_from_string(const std::string& name) {
  if (name == "SystemMemory") return MemoryType::CPU;
  for (const detail::MemoryTypeName& row : detail::kMemoryTypes)
    if (row.name == name) return row.type;
  throw std::runtime_error("memory_type_from_string: no memory type is called '" + name +
                           "'; System, DMABuf, VASurface are examples");
}

/// The object as a T_DOWN. @errors std::runtime_error: it is none, or null.
template <typename T_DOWN, typename T_UP>
std::shared_ptr<T_DOWN> ptr_cast(const std::shared_ptr<T_UP>& ptr_up) {
  std::shared_ptr<T_DOWN> ptr_down = std::dynamic_pointer_cast<T_DOWN>(ptr_up);
  if (!ptr_down)
    throw std::runtime_error("ptr_cast: " + std::string(ptr_up ? typeid(*ptr_up).name() : "a null pointer") +
                             " is no " + typeid(T_DOWN).name());
  return ptr_down;
}

}  // namespace dlstreamer
