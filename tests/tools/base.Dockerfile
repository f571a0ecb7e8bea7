# Stands in for python:3.13-slim where no registry can be reached: Debian's own Python 3.13 at the official image's paths.
FROM scratch
ADD base.tar /
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
RUN rm -f /usr/lib/python3.13/EXTERNALLY-MANAGED \
    && ln -s /usr/bin/python3 /usr/local/bin/python \
    && ln -s /usr/bin/python3 /usr/local/bin/python3
CMD ["python3"]
