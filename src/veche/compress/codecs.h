#pragma once

#include "veche/compress/codec.h"

namespace veche {

// One factory per kind of codec; make_codec adds the wrappers. `none` is a codec too, for zstd.
// Codecs with a layout or memory of their own handle shape.small themselves; the others never see
// small tensors.
std::unique_ptr<Codec> make_raw_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_half_codec(const CodecSpec& spec, const StreamShape& shape);
std::unique_ptr<Codec> make_int8_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_qsgd_codec(int levels, const StreamShape& shape);
std::unique_ptr<Codec> make_sign_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_threshold_codec(float least, const StreamShape& shape);
std::unique_ptr<Codec> make_topk_codec(double part, const StreamShape& shape);
std::unique_ptr<Codec> make_randomk_codec(double part, const StreamShape& shape);
std::unique_ptr<Codec> make_dgc_codec(double part, StreamShape shape);           // handles `small`
std::unique_ptr<Codec> make_powersgd_codec(int rank, const StreamShape& shape);  // handles `small`

// Wrappers.
std::unique_ptr<Codec> with_small_tensors(std::unique_ptr<Codec> large, const StreamShape& shape);
std::unique_ptr<Codec> with_error_feedback(std::unique_ptr<Codec> codec, std::size_t length);
std::unique_ptr<Codec> with_zstd(std::unique_ptr<Codec> codec);

}  // namespace veche
