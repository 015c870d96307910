// SPDX-License-Identifier: Apache-2.0
// The graph extension, 1.0 to 1.18: its enumerators and the structs that describe graphs. Its calls: graph_table.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/frameworks/level_zero/abi/base.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero::abi {

inline constexpr char kGraphExtension[] = "ZE_extension_graph";
inline constexpr std::uint32_t kGraphVersion = version(1, 18);  ///< The newest version declared here.
/// Tenon's own: the driver's compiler knows the operation InputStage. It has a version and no functions.
inline constexpr char kInputStageExtension[] = "ZE_extension_tenon_input_stage";

using GraphHandle = struct OpaqueGraph*;
using GraphQueryHandle = struct OpaqueGraphQuery*;        ///< 1.3: which layers a compiler supports.
using GraphBuildLogHandle = struct OpaqueGraphBuildLog*;  ///< 1.12

/// Values of stype; specific to the extension, and overlapping those of the core.
enum class GraphStructure : std::uint32_t {
  kDeviceProperties = 0x1,
  kDescriptor = 0x2,
  kProperties = 0x3,
  kArgumentProperties = 0x4,
  kActivationKernel = 0x5,
  kArgumentMetadata = 0x6,
  kMutableArgumentDeprecated = 0x7,
  kInputHash = 0x8,
  kArgumentPropertyStrides = 0x9,
  kArgumentTensor = 0xA,
  kArgumentStrides = 0xB,
  kArgumentProperties2 = 0xC,
  kArgumentProperties3 = 0xD,
  kDescriptor2 = 0xE,
  kDeviceProperties2 = 0xF,
  kProperties2 = 0x10,
  kProperties3 = 0x11,
};

/// Bits of DeviceGraphProperties::formats; a descriptor has exactly one.
enum class GraphFormat : std::uint32_t {
  kNative = 0x1,     ///< A compiled blob.
  kNgraphLite = 0x2  ///< A model in memory, for the driver's compiler.
};

enum class ArgumentType : std::uint32_t { kInput = 0, kOutput = 1 };

enum class ArgumentPrecision : std::uint32_t {
  kUnknown = 0x00,
  kFp32 = 0x01,
  kFp16 = 0x02,
  kUint16 = 0x03,
  kUint8 = 0x04,
  kInt32 = 0x05,
  kInt16 = 0x06,
  kInt8 = 0x07,
  kBin = 0x08,
  kBf16 = 0x09,
  kUint32 = 0x0A,
  kUint4 = 0x0B,
  kInt4 = 0x0C,
  kDynamic = 0x0D,
  kBoolean = 0x0E,
  kFp64 = 0x0F,
  kUint64 = 0x10,
  kInt64 = 0x11,
  kNf4 = 0x12,  ///< 1.10
  kFp8E4M3 = 0x13,
  kFp8E5M2 = 0x14,
  kFp8E8M0 = 0x15,
  kUint2 = 0x16,
  kInt2 = 0x17,
};

enum class ArgumentLayout : std::uint32_t {
  kAny = 0x00,
  kNchw = 0x01,
  kNhwc = 0x02,
  kNcdhw = 0x03,
  kNdhwc = 0x04,
  kOihw = 0x40,
  kC = 0x60,
  kChw = 0x80,
  kHw = 0xC0,
  kNc = 0xC1,
  kCn = 0xC2,
  kBlocked = 0xC8,
};

/// Element types of metadata, in OpenVINO's order at that time.
enum class MetadataType : std::uint32_t {
  kUndefined = 0,
  kDynamic = 1,
  kBoolean = 2,
  kBf16 = 3,
  kF16 = 4,
  kF32 = 5,
  kF64 = 6,
  kI4 = 7,
  kI8 = 8,
  kI16 = 9,
  kI32 = 10,
  kI64 = 11,
  kU1 = 12,
  kU4 = 13,
  kU8 = 14,
  kU16 = 15,
  kU32 = 16,
  kU64 = 17,
};

inline constexpr std::size_t kMaxArgumentName = 256;
inline constexpr std::size_t kMaxArgumentDimensions = 5;
inline constexpr std::size_t kMaxMetadataDimensions = 8;
inline constexpr std::size_t kMaxTensorNames = 32;
/// A dimension of metadata known only at inference.
inline constexpr std::uint64_t kDynamicDimension = ~std::uint64_t{0};

struct CompilerVersion {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
static_assert(sizeof(CompilerVersion) == 4);

struct VersionInfo {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::uint32_t patch = 0;
};
static_assert(sizeof(VersionInfo) == 12);

struct DeviceGraphProperties {
  GraphStructure stype = GraphStructure::kDeviceProperties;
  void* next = nullptr;
  std::uint32_t extension_version = 0;
  CompilerVersion compiler_version;
  std::uint32_t formats = 0;  ///< GraphFormat bits.
  std::uint32_t max_opset = 0;
};
static_assert(sizeof(DeviceGraphProperties) == 32 && offsetof(DeviceGraphProperties, compiler_version) == 20 &&
              offsetof(DeviceGraphProperties, max_opset) == 28);

/// 1.6
struct DeviceGraphProperties2 {
  GraphStructure stype = GraphStructure::kDeviceProperties2;
  void* next = nullptr;
  std::uint32_t extension_version = 0;
  CompilerVersion compiler_version;
  std::uint32_t formats = 0;
  std::uint32_t max_opset = 0;
  VersionInfo blob_version;     ///< Version of the compiled blobs' container.
  VersionInfo runtime_version;  ///< Version of the firmware that runs them.
};
static_assert(sizeof(DeviceGraphProperties2) == 56 && offsetof(DeviceGraphProperties2, blob_version) == 32 &&
              offsetof(DeviceGraphProperties2, runtime_version) == 44);

/// May follow a descriptor: a custom kernel of the model.
struct ActivationKernelDescriptor {
  GraphStructure stype = GraphStructure::kActivationKernel;
  void* next = nullptr;
  std::size_t size = 0;
  const std::uint8_t* data = nullptr;
};
static_assert(sizeof(ActivationKernelDescriptor) == 32 && offsetof(ActivationKernelDescriptor, data) == 24);

struct GraphDescriptor {
  GraphStructure stype = GraphStructure::kDescriptor;
  void* next = nullptr;
  std::uint32_t format = 0;  ///< One GraphFormat.
  std::size_t input_size = 0;
  const std::uint8_t* input = nullptr;
  const char* build_flags = nullptr;  ///< "--inputs_precisions=... --config KEY="VALUE" ..."; may be null.
};
static_assert(sizeof(GraphDescriptor) == 48 && offsetof(GraphDescriptor, format) == 16 &&
              offsetof(GraphDescriptor, input_size) == 24 && offsetof(GraphDescriptor, build_flags) == 40);

enum GraphFlag : std::uint32_t {
  kGraphDisableCaching = 1u << 0,
  kGraphEnableProfiling = 1u << 1,
  kGraphInputPersistent = 1u << 2,           ///< 1.13: the input outlives the graph; address and size are page-aligned.
  kGraphSecureCompile = 1u << 3,             ///< 1.17
  kGraphOptimizeForDynamicShapes = 1u << 4,  ///< 1.18: strides stay in effect until set again.
};

/// 1.5. Compatible with old drivers: its first 48 bytes are a GraphDescriptor.
struct GraphDescriptor2 {
  GraphStructure stype = GraphStructure::kDescriptor2;
  void* next = nullptr;
  std::uint32_t format = 0;
  std::size_t input_size = 0;
  const std::uint8_t* input = nullptr;
  const char* build_flags = nullptr;
  std::uint32_t flags = 0;  ///< GraphFlag bits.
};
static_assert(sizeof(GraphDescriptor2) == 56 && offsetof(GraphDescriptor2, input) == 32 &&
              offsetof(GraphDescriptor2, flags) == 48);

/// 1.14; may follow a descriptor: a hash of the input, if the client has it.
struct GraphInputHash {
  GraphStructure stype = GraphStructure::kInputHash;
  void* next = nullptr;
  std::uint64_t hash = 0;
};
static_assert(sizeof(GraphInputHash) == 24);

struct GraphProperties {
  GraphStructure stype = GraphStructure::kProperties;
  void* next = nullptr;
  std::uint32_t argument_count = 0;
};
static_assert(sizeof(GraphProperties) == 24);

/// Bits of GraphProperties2::init_stage.
enum class InitStage : std::uint32_t {
  kCommandList = 0x1,  ///< append_graph_initialize is needed.
  kInitialize = 0x2,   ///< graph_initialize is needed.
};

/// 1.8
struct GraphProperties2 {
  GraphStructure stype = GraphStructure::kProperties2;
  void* next = nullptr;
  std::uint32_t argument_count = 0;
  std::uint32_t init_stage = 0;
};
static_assert(sizeof(GraphProperties2) == 24 && offsetof(GraphProperties2, init_stage) == 20);

enum GraphPropertiesFlag : std::uint32_t {
  kGraphLoadedFromCache = 1u << 0,
  kGraphCompiled = 1u << 1,
  kGraphPreCompiled = 1u << 2,
  kGraphNoStandardAllocation = 1u << 3,  ///< 1.14: the input may be freed.
  kGraphProfilingEnabled = 1u << 4,      ///< Executing it needs a profiling query.
};

/// 1.12
struct GraphProperties3 {
  GraphStructure stype = GraphStructure::kProperties3;
  void* next = nullptr;
  std::uint32_t argument_count = 0;
  std::uint32_t init_stage = 0;
  std::uint32_t flags = 0;  ///< GraphPropertiesFlag bits.
};
static_assert(sizeof(GraphProperties3) == 32 && offsetof(GraphProperties3, flags) == 24);

/// Dimensions start with the outermost; drivers before argument properties 3 set unused ones to 1.
struct ArgumentProperties {
  GraphStructure stype = GraphStructure::kArgumentProperties;
  void* next = nullptr;
  char name[kMaxArgumentName] = {};
  ArgumentType type = ArgumentType::kInput;
  std::uint32_t dims[kMaxArgumentDimensions] = {};
  ArgumentPrecision network_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout network_layout = ArgumentLayout::kAny;
  ArgumentPrecision device_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout device_layout = ArgumentLayout::kAny;
};
static_assert(sizeof(ArgumentProperties) == 312 && offsetof(ArgumentProperties, type) == 272 &&
              offsetof(ArgumentProperties, dims) == 276 && offsetof(ArgumentProperties, network_precision) == 296 &&
              offsetof(ArgumentProperties, device_layout) == 308);

/// 1.1
struct ArgumentProperties2 {
  GraphStructure stype = GraphStructure::kArgumentProperties2;
  void* next = nullptr;
  char name[kMaxArgumentName] = {};
  ArgumentType type = ArgumentType::kInput;
  std::uint32_t dims[kMaxArgumentDimensions] = {};
  ArgumentPrecision network_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout network_layout = ArgumentLayout::kAny;
  ArgumentPrecision device_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout device_layout = ArgumentLayout::kAny;
  float quantization_reverse_scale = 0;
  std::uint8_t quantization_zero_point = 0;
};
static_assert(sizeof(ArgumentProperties2) == 320 && offsetof(ArgumentProperties2, quantization_reverse_scale) == 312 &&
              offsetof(ArgumentProperties2, quantization_zero_point) == 316);

/// 1.2
struct ArgumentProperties3 {
  GraphStructure stype = GraphStructure::kArgumentProperties3;
  void* next = nullptr;
  char name[kMaxArgumentName] = {};
  ArgumentType type = ArgumentType::kInput;
  std::uint32_t dims[kMaxArgumentDimensions] = {};
  ArgumentPrecision network_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout network_layout = ArgumentLayout::kAny;
  ArgumentPrecision device_precision = ArgumentPrecision::kUnknown;
  ArgumentLayout device_layout = ArgumentLayout::kAny;
  float quantization_reverse_scale = 0;
  std::uint8_t quantization_zero_point = 0;
  std::uint32_t dims_count = 0;
  char debug_friendly_name[kMaxArgumentName] = {};
  char tensor_names[kMaxTensorNames][kMaxArgumentName] = {};
  std::uint32_t tensor_names_count = 0;
};
static_assert(sizeof(ArgumentProperties3) == 8776 && offsetof(ArgumentProperties3, dims_count) == 320 &&
              offsetof(ArgumentProperties3, debug_friendly_name) == 324 &&
              offsetof(ArgumentProperties3, tensor_names) == 580 &&
              offsetof(ArgumentProperties3, tensor_names_count) == 8772);

/// 1.1. An argument as in the model before compilation; its shape may contain kDynamicDimension.
struct ArgumentMetadata {
  GraphStructure stype = GraphStructure::kArgumentMetadata;
  void* next = nullptr;
  ArgumentType type = ArgumentType::kInput;
  char friendly_name[kMaxArgumentName] = {};
  MetadataType data_type = MetadataType::kUndefined;
  std::uint64_t shape[kMaxMetadataDimensions] = {};
  std::uint32_t shape_size = 0;
  char tensor_names[kMaxTensorNames][kMaxArgumentName] = {};
  std::uint32_t tensor_names_count = 0;
  char input_name[kMaxArgumentName] = {};
};
static_assert(sizeof(ArgumentMetadata) == 8800 && offsetof(ArgumentMetadata, friendly_name) == 20 &&
              offsetof(ArgumentMetadata, data_type) == 276 && offsetof(ArgumentMetadata, shape) == 280 &&
              offsetof(ArgumentMetadata, shape_size) == 344 && offsetof(ArgumentMetadata, tensor_names) == 348 &&
              offsetof(ArgumentMetadata, tensor_names_count) == 8540 && offsetof(ArgumentMetadata, input_name) == 8544);

/// 1.15; may follow argument properties.
struct ArgumentPropertyStrides {
  GraphStructure stype = GraphStructure::kArgumentPropertyStrides;
  void* next = nullptr;
  std::uint8_t supports_dynamic_strides = 0;
};
static_assert(sizeof(ArgumentPropertyStrides) == 24);

/// 1.15: passed to set_argument_value_2; may also follow a mutable graph argument.
struct ArgumentTensor {
  GraphStructure stype = GraphStructure::kArgumentTensor;
  void* next = nullptr;
  const void* data = nullptr;
};
static_assert(sizeof(ArgumentTensor) == 24);

/// 1.15: strides in elements, in the order of the argument's dims. Used like ArgumentTensor, after one, or after a
/// MutableGraphArgument (its next pointer then continues the list of changes).
struct ArgumentStrides {
  GraphStructure stype = GraphStructure::kArgumentStrides;
  void* next = nullptr;
  std::uint32_t strides[kMaxArgumentDimensions] = {};
};
static_assert(sizeof(ArgumentStrides) == 40 && offsetof(ArgumentStrides, strides) == 16);

/// 1.5; the caches since 1.10.
enum class MemoryQueryType : std::uint32_t { kDdr = 0x1, kDriverCache = 0x2, kProgramCache = 0x3 };

/// Bytes (KiB before 1.9, and only on Windows).
struct MemoryQuery {
  std::uint64_t total = 0;
  std::uint64_t allocated = 0;
};
static_assert(sizeof(MemoryQuery) == 16);

/// 1.11: which component's options are queried.
enum class OptionsType : std::uint32_t { kCompiler = 0x1, kDriver = 0x2 };

}  // namespace level_zero::abi
}  // namespace v1
}  // namespace tenon
