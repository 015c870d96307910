// SPDX-License-Identifier: Apache-2.0
// Writes and reads the graph and its weights, sealed.
#include <tenon/runtime/device/model_blob.hpp>

#include <string>

#include <tenon/core/error.hpp>
#include <tenon/graph/readers/openvino_ir/ir_reader.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/store/bytes.hpp>
#include <tenon/store/release.hpp>
#include <tenon/store/sealed_header.hpp>

namespace tenon {
inline namespace v1 {
namespace {

struct BlobFields {
  store::MadeBy made_by;
  std::uint64_t text_bytes, weights_offset;
};
using BlobHeader = store::Sealed<BlobFields>;

/// The error for bytes that are not of this format, in the device's name.
store::Format store_format(const ModelBlobFormat& of) {
  store::Format format{.magic = of.magic, .version = of.version, .damaged = [&of](const std::string& what) {
                         throw Error(Code::kDataLoss,
                                     std::string(of.device) + ": the blob is damaged or truncated: " + what);
                       }};
  format.foreign = [&of] {
    throw Error(Code::kInvalidArgument, std::string(of.device) + ": these bytes are not a blob of this device");
  };
  format.other_version = [&of](const store::SealStart& found) {
    throw Error(Code::kFailedPrecondition, std::string(of.device) + ": the blob has version " +
                                               std::to_string(found.version) + ", this device reads " +
                                               std::to_string(of.version));
  };
  return format;
}

}  // namespace

void write_model_blob(std::ostream& stream, const Model& model, const ModelBlobFormat& format) {
  const SerializedModel graph = serialize(model);
  BlobHeader header{};
  header.fields.made_by = store::MadeBy::this_release();
  std::string body = graph.xml;
  header.fields.text_bytes = body.size();
  header.fields.weights_offset = store::aligned(sizeof header + body.size(), 64);
  body.resize(header.fields.weights_offset - sizeof header, ' ');
  const std::string_view weights = store::bytes_of(graph.weights);
  store::ContentHasher hasher;
  hasher.add(body.data(), body.size());
  hasher.add(weights.data(), weights.size());
  header.start.content = hasher.result();
  header.start.total = header.fields.weights_offset + weights.size();
  store::seal(header, store_format(format));
  stream.write(reinterpret_cast<const char*>(&header), sizeof header);
  stream.write(body.data(), static_cast<std::streamsize>(body.size()));
  stream.write(weights.data(), static_cast<std::streamsize>(weights.size()));
  if (!stream) throw Error(Code::kDataLoss, std::string(format.device) + ": the stream took only a part of the blob");
}

std::shared_ptr<Model> read_model_blob(const Tensor& bytes, bool is_verified, const ModelBlobFormat& format) {
  const store::Format sealed = store_format(format);
  const std::string_view all = store::bytes_of(bytes);
  const BlobHeader header = store::unseal<BlobFields>(all, sealed);
  // Kernels and shapes may differ in another release.
  store::check_made_by(header.fields.made_by, format.device);
  store::check_total(header.start, sizeof header, all.size(), sealed.damaged);
  const store::Section text{sizeof header, header.fields.text_bytes};
  const store::Section weights{header.fields.weights_offset, header.start.total - header.fields.weights_offset};
  if (!store::lies_within(weights, sizeof header, header.start.total) ||
      !store::lies_within(text, sizeof header, weights.offset))
    sealed.damaged("parts of it lie outside");
  if (!is_verified) store::check_content(header.start, sizeof header, all, sealed.damaged);
  return read_ir(text.in(all), store::part_of(bytes, weights.offset, weights.size), "the blob's graph");
}

}  // namespace v1
}  // namespace tenon
