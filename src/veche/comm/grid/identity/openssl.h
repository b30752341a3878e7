#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace veche::grid {

struct OpensslFree {
  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }
  void operator()(X509* it) const { X509_free(it); }
  void operator()(X509_STORE_CTX* it) const { X509_STORE_CTX_free(it); }
  void operator()(STACK_OF(X509) * it) const { sk_X509_pop_free(it, X509_free); }
  void operator()(EVP_MD_CTX* it) const { EVP_MD_CTX_free(it); }
  void operator()(BIO* it) const { BIO_free_all(it); }
  void operator()(SSL* it) const { SSL_free(it); }
  void operator()(SSL_CTX* it) const { SSL_CTX_free(it); }
  void operator()(X509_EXTENSION* it) const { X509_EXTENSION_free(it); }
};
template <class T>
using Openssl = std::unique_ptr<T, OpensslFree>;

// Throws RunError with OpenSSL's message.
[[noreturn]] void openssl_failed(const std::string& what);
// OpenSSL's first queued error of this thread; the rest is dropped.
std::string openssl_words();

}  // namespace veche::grid
