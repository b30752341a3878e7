#include "veche/data/formats/idx.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <functional>

#include "veche/errors.h"

namespace veche {
namespace {

namespace fs = std::filesystem;
using Bytes = std::string;

Bytes number(std::uint32_t n) {
  return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
          static_cast<char>(n)};
}

// Three images of 2x4 with pixels 0, 1, 2, ... and the labels 2, 0, 1.
Bytes good_images() {
  Bytes file = Bytes("\0\0\x08\x03", 4) + number(3) + number(2) + number(4);
  for (char pixel = 0; pixel < 24; ++pixel) file += pixel;
  return file;
}
Bytes good_labels() { return Bytes("\0\0\x08\x01", 4) + number(3) + Bytes("\2\0\1", 3); }

Bytes packed(const Bytes& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Idx : public testing::Test {
 protected:
  Idx() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("veche-idx-" + std::to_string(getpid()) + "-" + test->name());
    fs::create_directories(folder_);
  }
  ~Idx() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const Bytes& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  Samples read(const Bytes& images, const Bytes& labels) {
    return read_idx(write("images", images), write("labels", labels), 3);
  }
  // The error is one sentence that names the file and the problem.
  void expect_refused(const Bytes& images, const Bytes& labels, const std::string& file,
                      const std::string& why) {
    try {
      read(images, labels);
      ADD_FAILURE() << "not refused: " << why;
    } catch (const RequestError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("'" + (folder_ / file).string() + "'"), Bytes::npos) << text;
      EXPECT_NE(text.find(why), Bytes::npos) << text;
      EXPECT_EQ(text.find('\n'), Bytes::npos) << text;
    }
  }

  fs::path folder_;
};

TEST_F(Idx, ReadsPlainAndPackedAlike) {
  for (const std::function<Bytes(const Bytes&)>& form :
       {std::function(packed), std::function([](const Bytes& b) { return b; })}) {
    const Samples samples = read(form(good_images()), form(good_labels()));
    EXPECT_EQ(samples.shape, (Shape{1, 2, 4}));
    EXPECT_EQ(samples.classes, 3);
    EXPECT_EQ(samples.labels, (std::vector<std::int64_t>{2, 0, 1}));
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(samples.pixels(i / 8, {})[i % 8], i);
  }
}

TEST_F(Idx, ReadsSeveralGzipMembersAsOneFile) {
  const Bytes images = good_images();
  EXPECT_EQ(read(packed(images.substr(0, 10)) + packed(images.substr(10)), good_labels()).pixels(2, {})[7],
            23);
}

TEST_F(Idx, FindsFileBeforePackedFile) {
  EXPECT_EQ(find_idx(folder_, "images"), std::nullopt);
  write("images.gz", "");
  EXPECT_EQ(find_idx(folder_, "images"), folder_ / "images.gz");
  write("images", "");
  EXPECT_EQ(find_idx(folder_, "images"), folder_ / "images");
}

TEST_F(Idx, NamesWhatIsMissing) {
  EXPECT_THROW(read_idx(folder_ / "nowhere", folder_ / "nothing", 3), RequestError);
  EXPECT_THROW(read_idx(folder_, folder_, 3), RequestError);  // a folder is not a file
}

TEST_F(Idx, NamesTruncation) {
  const Bytes images = good_images();
  const Bytes labels = good_labels();
  for (std::size_t length = 0; length < images.size(); ++length) {
    expect_refused(images.substr(0, length), labels, "images", "is truncated");
    expect_refused(packed(images.substr(0, length)), labels, "images", "is truncated");
  }
  for (std::size_t length = 0; length < labels.size(); ++length) {
    expect_refused(images, labels.substr(0, length), "labels", "is truncated");
  }
  // All pixels may be present while the checksum after them is missing.
  const Bytes gzip = packed(images);
  for (std::size_t length = 2; length < gzip.size(); ++length) {
    expect_refused(gzip.substr(0, length), labels, "images", "is truncated");
  }
}

TEST_F(Idx, NamesAnotherKindOfFile) {
  expect_refused(good_labels(), good_labels(), "images", "begins with 00 00 08 01, not 00 00 08 03");
  expect_refused(good_images(), good_images(), "labels", "is not an IDX file of bytes in 1 dimension:");
  expect_refused("<html>not found</html>", good_labels(), "images", "is not an IDX file");
  Bytes floats = good_images();
  floats[2] = 0x0d;
  expect_refused(floats, good_labels(), "images", "is not an IDX file");
}

TEST_F(Idx, NamesTrailingBytes) {
  expect_refused(good_images() + "x", good_labels(), "images", "goes on after the 3x2x4 bytes");
  expect_refused(good_images(), packed(good_labels() + "x"), "labels", "goes on after the 3 bytes");
  expect_refused(packed(good_images()) + "rubbish", good_labels(), "images", "is damaged");
}

TEST_F(Idx, NamesDamagedPacking) {
  Bytes gzip = packed(good_images());
  gzip[gzip.size() - 6] ^= 1;  // the checksum
  expect_refused(gzip, good_labels(), "images", "is damaged");
}

TEST_F(Idx, RefusesAnAbsurdHeaderWithoutSettingMemoryAside) {
  Bytes images = good_images();
  images.replace(4, 12, Bytes(12, '\xff'));
  expect_refused(images, good_labels(), "images",
                 "4294967295x4294967295x4294967295 bytes and fewer are there");
  expect_refused(packed(images), good_labels(), "images", "is truncated");
}

TEST_F(Idx, NamesEmptySets) {
  expect_refused(Bytes("\0\0\x08\x03", 4) + number(0) + number(2) + number(4), good_labels(), "images",
                 "holds nothing");
}

TEST_F(Idx, NamesUnequalCountsAndWrongLabels) {
  expect_refused(good_images(), Bytes("\0\0\x08\x01", 4) + number(2) + Bytes("\2\0", 2), "labels",
                 "holds 2 labels");
  expect_refused(good_images(), Bytes("\0\0\x08\x01", 4) + number(3) + Bytes("\2\0\3", 3), "labels",
                 "gives sample 2 the label 3, which is not in 0..2");
}

}  // namespace
}  // namespace veche
