#pragma once

#include "veche/compress/summed_codec.h"

namespace veche {

// The codecs that make_summed_codec creates.
std::unique_ptr<SummedCodec> make_summed_randomk(double part, const StreamShape& shape);
std::unique_ptr<SummedCodec> make_summed_powersgd(int rank, const StreamShape& shape);

}  // namespace veche
