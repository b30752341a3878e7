"""Scripts written for other libraries, after one changed import.

    import veche.compat.horovod as hvd      # was: import horovod.torch as hvd
    import veche.compat.bluefog as bf       # was: import bluefog.torch as bf

What cannot be matched raises veche.RequestError, which says what to use instead.
"""
