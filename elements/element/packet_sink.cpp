// SPDX-License-Identifier: Apache-2.0
// The one place of the class's type information, which hosts need to tell such sinks.
#include <tenon/elements/packet_sink.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

PacketSink::~PacketSink() = default;

}  // namespace elements
}  // namespace v1
}  // namespace tenon
