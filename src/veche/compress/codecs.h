#pragma once

#include "veche/compress/codec.h"

namespace veche {

// One function a kind of codec; make_codec puts around them what all may have. `none` too is one, for zstd.
// Those with a layout or memory of their own see to shape.small themselves; the others see no small tensors.
std::unique_ptr<Codec> make_raw_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_half_codec(const CodecSpec& spec, const StreamShape& shape);
std::unique_ptr<Codec> make_int8_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_qsgd_codec(int levels, const StreamShape& shape);
std::unique_ptr<Codec> make_sign_codec(const StreamShape& shape);
std::unique_ptr<Codec> make_threshold_codec(float least, const StreamShape& shape);
std::unique_ptr<Codec> make_topk_codec(double part, const StreamShape& shape);
std::unique_ptr<Codec> make_randomk_codec(double part, const StreamShape& shape);
std::unique_ptr<Codec> make_dgc_codec(double part, StreamShape shape);           // sees to `small`
std::unique_ptr<Codec> make_powersgd_codec(int rank, const StreamShape& shape);  // sees to `small`

// What goes around them.
std::unique_ptr<Codec> with_small_tensors(std::unique_ptr<Codec> large, const StreamShape& shape);
std::unique_ptr<Codec> with_error_feedback(std::unique_ptr<Codec> codec, std::size_t length);
std::unique_ptr<Codec> with_zstd(std::unique_ptr<Codec> codec);

}  // namespace veche
